package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/ard"
)

// family is a kind of map, in some scales and sizes.
type family struct {
	name   string
	scales []string // as the table shows them
	maps   []rff.Map[float64]

	trials [len(criteria)][]ridge.Trial
	chosen int                   // index of the best map by folds
	model  *ridge.Model[float64] // of that map, made and fitted with all rows
}

// criteria of the columns of the table.
var criteria = [...]ridge.Criterion{ridge.Evidence, ridge.Folds}

// byFolds is the index of the criterion of the map that is served.
const byFolds = 1

// parts of the root mean square distance that are tried as length-scales.
var parts = []float64{0.5, 1, 2, 4}

// propose returns the maps to choose among. Scales are learnt from the rows.
func propose(ctx context.Context, rows ridge.Block[float64], sizes []int, src rand.Source) ([]*family, error) {
	d := rows.X.Cols
	identity, err := rff.Identity[float64](d)
	if err != nil {
		return nil, err
	}
	linear, one, each := &family{name: "linear"}, &family{name: "one length-scale"}, &family{name: "one a column"}
	linear.add("", identity)
	distance := rootMeanDistance(rows.X)
	sizes = slices.Sorted(slices.Values(sizes))
	psi := make([]rff.Map[float64], len(sizes)) // of length-scale 1
	for i, size := range sizes {
		w, err := orf.Draw[float64](orf.GramSchmidt{}, size/2, d, src)
		if err != nil {
			return nil, err
		}
		for _, part := range parts {
			phi, err := rff.Gaussian(w, part*distance)
			if err != nil {
				return nil, err
			}
			one.add(fmt.Sprintf("%.2f", part*distance), phi)
		}
		if psi[i], err = rff.Gaussian(w, 1); err != nil {
			return nil, err
		}
	}
	scaled, err := relevance(ctx, psi[len(psi)-1], rows, src)
	if err != nil {
		return nil, err
	}
	for i := range psi {
		phi, err := rff.Compose(scaled, psi[i])
		if err != nil {
			return nil, err
		}
		each.add("learnt", phi)
	}
	return []*family{linear, one, each}, nil
}

func (f *family) add(scale string, phi rff.Map[float64]) {
	f.scales, f.maps = append(f.scales, scale), append(f.maps, phi)
}

// rootMeanDistance returns the root of the mean squared distance of two rows, which is twice the
// sum of the variances of the columns. The median distance is 0 where most rows are equal, as in
// tables of a few categories.
func rootMeanDistance(x dense.Matrix[float64]) float64 {
	sum, column := 0.0, make([]float64, x.Rows)
	for j := range x.Cols {
		for i := range column {
			column[i] = x.At(i, j)
		}
		sum += 2 * stat.Variance(column, nil)
	}
	return math.Sqrt(sum)
}

// relevance learns a length-scale for each column and returns the map that divides by them.
func relevance(ctx context.Context, psi rff.Map[float64], rows ridge.Block[float64], src rand.Source) (rff.Map[float64], error) {
	found, err := ard.Fit(ctx, psi, rows, ard.Options{}, src)
	if err != nil {
		return nil, err
	}
	a := dense.New[float64](rows.X.Cols, rows.X.Cols)
	for j, scale := range found.Scales {
		a.Set(j, j, 1/scale)
	}
	return rff.Affine(a, nil)
}

// choose learns scales from one half of the rows and tries all maps on the other half by both
// criteria: folds of rows that scales were learnt from would find a function in noise. The best map
// of each family by folds is then made and fitted again, from all rows.
func choose(ctx context.Context, rows ridge.Block[float64], sizes []int, src rand.Source) ([]*family, error) {
	half := rows.X.Rows / 2
	part := func(from, to int) ridge.Block[float64] {
		return ridge.Block[float64]{X: rows.X.RowRange(from, to), Y: rows.Y.RowRange(from, to)}
	}
	all, err := propose(ctx, part(0, half), sizes, src)
	if err != nil {
		return nil, err
	}
	again, err := propose(ctx, rows, sizes, src)
	if err != nil {
		return nil, err
	}
	for k, f := range all {
		for i, by := range criteria {
			found, err := ridge.Choose(ctx, f.maps, part(half, rows.X.Rows), ridge.ChooseOptions{By: by})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
			f.trials[i], f.chosen = found.Trials, found.Best // the last is of folds
		}
		if f.model, err = fit(ctx, again[k].maps[f.chosen], rows); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return all, nil
}

// leastRatio of the variances of noise and weights is one with which a predictor tells standard
// deviations in float32. Targets that are an exact function have less.
const leastRatio = 1e-7

func fit(ctx context.Context, phi rff.Map[float64], rows ridge.Block[float64]) (*ridge.Model[float64], error) {
	model, err := ridge.Fit(ctx, phi, rows.X, rows.Y, ridge.Options{})
	if err == nil && model.Noise()[0] < leastRatio*model.Prior()[0] {
		return ridge.Fit(ctx, phi, rows.X, rows.Y, ridge.Options{Ratio: leastRatio})
	}
	return model, err
}

// first returns the family with the best map by a criterion, and the index of the map. Scores that
// are NaN are none.
func first(all []*family, by int) (best *family, at int) {
	score := math.Inf(1)
	for _, f := range all {
		for i, trial := range f.trials[by] {
			v := trial.Score
			if criteria[by] == ridge.Evidence {
				v = -v
			}
			if v < score {
				best, at, score = f, i, v
			}
		}
	}
	return best, at
}

// reportMaps prints the scores of all maps.
func reportMaps(w io.Writer, all []*family) error {
	fmt.Fprint(w, "\nMaps, with the best by each criterion marked:\n\n")
	t := table.New(1, "length-scales", "ℓ", "D", "log evidence", "", "RMSE of folds", "")
	for _, f := range all {
		t.Gap()
		for i, phi := range f.maps {
			_, width := phi.Dims()
			cells := []string{f.name, f.scales[i], strconv.Itoa(width)}
			for by, form := range []string{"%.0f", "%.2f"} {
				text, mark := "none", ""
				if v := f.trials[by][i]; v.Err == nil {
					text = fmt.Sprintf(form, v.Score)
				}
				if best, at := first(all, by); best == f && at == i {
					mark = "←"
				}
				cells = append(cells, text, mark)
			}
			t.Row(cells...)
		}
	}
	return t.Fprint(w)
}
