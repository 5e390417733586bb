package table

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
)

// Importance says how much accuracy a model loses if the values of a column are permuted.
type Importance struct {
	Column       string
	Loss, StdErr float64 // the rise of the mean squared error or log-loss, and its standard error
}

// Explain returns the permutation importance of each column from which the model predicts, the
// largest first: by how much the mean squared error or the log-loss at the rows of t with a target
// rises if the values of the column are permuted among the rows [Breiman 2001:
// https://doi.org/10.1023/A:1010933404324]. With several targets, squared errors are divided by the
// variance of the target. The source src gives one permutation for each column.
//
// The importance of a column may be small because other columns tell the model as much. Explain
// returns an error for a nil src, for fewer than two rows with a number or a known class as target,
// and where Model.Score returns one.
func (m *Model) Explain(t *Table, src rand.Source) ([]Importance, error) {
	if src == nil {
		return nil, errors.New("table: src is nil, want a source of randomness")
	}
	x, y, err := m.points(t)
	if err != nil {
		return nil, err
	}
	losses := func(x dense.Matrix[float64]) []float64 { return m.losses(m.predict(x), y) }
	before, rng, from := losses(x), rand.New(src), 0
	var all []Importance
	for _, c := range m.columns {
		n := c.width()
		if n == 0 {
			continue
		}
		moved := x.Clone()
		for i, k := range rng.Perm(x.Rows) {
			copy(moved.Row(i)[from:from+n], x.Row(k)[from:from+n])
		}
		from += n
		rises := losses(moved)
		for i, v := range before {
			rises[i] -= v
		}
		if rises = slices.DeleteFunc(rises, math.IsNaN); len(rises) < 2 {
			return nil, errors.New("table: fewer than two rows with a known target")
		}
		mean, deviation := stat.MeanStdDev(rises, nil)
		all = append(all, Importance{c.Name, mean, deviation / math.Sqrt(float64(len(rises)))})
	}
	slices.SortStableFunc(all, func(a, b Importance) int { return cmp.Compare(b.Loss, a.Loss) })
	return all, nil
}
