package main

import (
	"context"
	"fmt"
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

// families are the kinds of maps: the columns themselves, and Gaussian kernels with one
// length-scale or one length-scale for each column.
var families = []string{"linear", "one length-scale", "one a column"}

// candidate is a map with its scores.
type candidate struct {
	family, scale   string
	phi             rff.Map[float64]
	evidence, folds float64 // NaN if the map cannot be fitted

	model *ridge.Model[float64] // fit to all rows, nil unless the map is the best of its family
}

// parts are the tried length-scales in units of the root mean square distance.
var parts = []float64{0.5, 1, 2, 4}

// propose returns the candidates. propose learns scales from rows.
func propose(ctx context.Context, rows ridge.Block[float64], sizes []int, src rand.Source) ([]candidate, error) {
	d := rows.X.Cols
	identity, err := rff.Identity[float64](d)
	if err != nil {
		return nil, err
	}
	all := []candidate{{family: families[0], phi: identity}}
	distance := rootMeanDistance(rows.X)
	var psi []rff.Map[float64] // of length-scale 1
	for _, size := range slices.Sorted(slices.Values(sizes)) {
		w, err := orf.Draw[float64](orf.GramSchmidt{}, size/2, d, src)
		if err != nil {
			return nil, err
		}
		for _, part := range parts {
			phi, err := rff.Gaussian(w, part*distance)
			if err != nil {
				return nil, err
			}
			all = append(all, candidate{family: families[1], scale: fmt.Sprintf("%.2f", part*distance), phi: phi})
		}
		phi, err := rff.Gaussian(w, 1)
		if err != nil {
			return nil, err
		}
		psi = append(psi, phi)
	}
	found, err := ard.Fit(ctx, psi[len(psi)-1], rows, ard.Options{}, src)
	if err != nil {
		return nil, err
	}
	a := dense.New[float64](d, d)
	for j, scale := range found.Scales {
		a.Set(j, j, 1/scale)
	}
	scaled, err := rff.Affine(a, nil)
	if err != nil {
		return nil, err
	}
	for _, phi := range psi {
		if phi, err = rff.Compose(scaled, phi); err != nil {
			return nil, err
		}
		all = append(all, candidate{family: families[2], scale: "learnt", phi: phi})
	}
	return all, nil
}

// rootMeanDistance returns the root mean square distance of two rows, the root of twice the sum of
// the variances of the columns. The median distance would be 0 if most rows are equal, as in tables
// of a few categories.
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

// choose learns scales from one half of the rows and scores all maps on the other half, because
// folds of the rows that scales were learnt from would find a function in noise. Then it makes the
// best map of each family again from all rows, and fits it to all rows.
func choose(ctx context.Context, rows ridge.Block[float64], sizes []int, src rand.Source) ([]candidate, error) {
	half := rows.X.Rows / 2
	all, err := propose(ctx, rows.RowRange(0, half), sizes, src)
	if err != nil {
		return nil, err
	}
	again, err := propose(ctx, rows, sizes, src)
	if err != nil {
		return nil, err
	}
	var maps []rff.Map[float64]
	for _, c := range all {
		maps = append(maps, c.phi)
	}
	evidence, err := ridge.Choose(ctx, maps, rows.RowRange(half, rows.X.Rows), ridge.ChooseOptions{})
	if err != nil {
		return nil, err
	}
	folds, err := ridge.Choose(ctx, maps, rows.RowRange(half, rows.X.Rows), ridge.ChooseOptions{Folds: 5})
	if err != nil {
		return nil, err
	}
	for i := range all {
		all[i].evidence, all[i].folds = evidence.Trials[i].Score, folds.Trials[i].Score
	}
	for _, family := range families {
		i := best(all, func(c candidate) float64 {
			if c.family != family {
				return math.NaN()
			}
			return c.folds
		})
		if i < 0 {
			return nil, fmt.Errorf("%s: no map can be fitted", family)
		}
		if all[i].model, err = fit(ctx, again[i].phi, rows); err != nil {
			return nil, fmt.Errorf("%s: %w", family, err)
		}
	}
	return all, nil
}

// leastRatio is the least ratio of the variances of noise and weights for which a predictor in
// float32 computes standard deviations. Targets that are an exact function have a smaller ratio.
const leastRatio = 1e-7

func fit(ctx context.Context, phi rff.Map[float64], rows ridge.Block[float64]) (*ridge.Model[float64], error) {
	model, err := ridge.Fit(ctx, phi, rows.X, rows.Y, ridge.Options{})
	if err == nil && model.Noise()[0] < leastRatio*model.Prior()[0] {
		return ridge.Fit(ctx, phi, rows.X, rows.Y, ridge.Options{Ratio: leastRatio})
	}
	return model, err
}

// best returns the index of the least score, or −1 if all scores are NaN.
func best(all []candidate, score func(c candidate) float64) int {
	at, least := -1, math.Inf(1)
	for i, c := range all {
		if s := score(c); s < least {
			at, least = i, s
		}
	}
	return at
}

func byEvidence(c candidate) float64 { return -c.evidence }
func byFolds(c candidate) float64    { return c.folds }

// mapsTable returns the table of the scores of all maps.
func mapsTable(all []candidate) *table.Table {
	t := table.New(1, "length-scales", "ℓ", "D", "log evidence", "", "RMSE of folds", "")
	cell := func(format string, score float64, marked bool) (text, mark string) {
		if text = "none"; !math.IsNaN(score) {
			text = fmt.Sprintf(format, score)
		}
		if marked {
			mark = "←"
		}
		return text, mark
	}
	for i, c := range all {
		if i == 0 || c.family != all[i-1].family {
			t.Gap()
		}
		_, width := c.phi.Dims()
		evidence, first := cell("%.0f", c.evidence, i == best(all, byEvidence))
		folds, second := cell("%.2f", c.folds, i == best(all, byFolds))
		t.Row(c.family, c.scale, strconv.Itoa(width), evidence, first, folds, second)
	}
	return t
}
