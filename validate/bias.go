package validate

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
)

// BiasRow is the mean estimate of the kernel at one pair of points.
type BiasRow struct {
	// Truth is k(x, y), Mean the mean over draws of φ(x)ᵀφ(y), StdErr the
	// standard error of that mean.
	Truth, Mean, StdErr float64
	// Rounding is 4ε·Σ_l|φ_l(x)φ_l(y)| with the ε of T: what Mean may be off for
	// reasons of arithmetic alone.
	Rounding float64
	// Z is (Mean − Truth)/√(StdErr² + Rounding²), or 0 if Mean is Truth. For an
	// unbiased map and many draws it is standard normal: beyond ±4 once in
	// 16,000 pairs.
	Z float64
}

// BiasTable is the result of Bias, one row a pair.
type BiasTable struct {
	Kernel kernels.Kernel
	Draws  int
	Pairs  []BiasRow
}

// Bias estimates the kernel at the pairs (x_i, y_i), the rows of x and y (both
// n×d), with each of draws ≥ 2 maps, and compares the mean φ(x_i)ᵀφ(y_i) with
// what the first map's Kernel gives. Take 30 draws or more to read Z as normal.
//
// Draw number t gets a PCG source seeded with the next two numbers of src, and
// sums are taken in the order of draws (by Welford's method), so the result is
// the same whatever GOMAXPROCS is. Memory is O(n) beyond the maps; nothing is
// retained of x and y.
//
// It is an error if x and y differ in shape or have no row, if draws is below
// 2 or above 2⁴⁰, if draw or src is nil, if the context of an Option is done, and if a draw
// fails, names no kernel or takes points of another dimension. Features that are NaN or infinite make Z NaN or
// infinite.
func Bias[T dense.Float](draw Draw[T], x, y dense.Matrix[T], draws int, src rand.Source, opts ...Option) (BiasTable, error) {
	m, err := measure(draw, x, y, draws, src, controlled(draws, opts), nil)
	if err != nil {
		return BiasTable{}, fmt.Errorf("validate: %w", err)
	}
	return m.bias(epsilon[T]()), nil
}

// bias returns the means, for features of relative precision eps.
func (m *measurement) bias(eps float64) BiasTable {
	t := BiasTable{Kernel: m.kernel, Draws: m.draws, Pairs: make([]BiasRow, len(m.truth))}
	for i, truth := range m.truth {
		row := BiasRow{
			Truth: truth, Mean: m.estimates[i].mean, StdErr: m.estimates[i].stdErr(),
			Rounding: 4 * eps * m.sizes[i].mean,
		}
		if row.Mean != row.Truth {
			row.Z = (row.Mean - row.Truth) / math.Hypot(row.StdErr, row.Rounding)
		}
		t.Pairs[i] = row
	}
	return t
}

// Worst returns the pair with the largest |Z|; a NaN is larger than any.
func (t BiasTable) Worst() (pair int, z float64) {
	for i, row := range t.Pairs {
		if math.IsNaN(row.Z) {
			return i, row.Z
		}
		if math.Abs(row.Z) > math.Abs(z) {
			pair, z = i, row.Z
		}
	}
	return pair, z
}

// Unbiased reports whether there are pairs and |Z| ≤ limit at every one; Bias
// returns none with an error. At limit 4 an unbiased map of n pairs fails with
// probability up to n/16,000.
func (t BiasTable) Unbiased(limit float64) bool {
	_, z := t.Worst()
	return len(t.Pairs) > 0 && math.Abs(z) <= limit
}

// Table returns the rows with their numbers.
func (t BiasTable) Table() Table {
	table := Table{
		Title: fmt.Sprintf("bias against %v, %d draws", t.Kernel, t.Draws),
		Columns: []Column{
			{Name: "pair", Key: "pair"}, {Name: "truth", Key: "truth", Format: "%.6g"}, {Name: "mean", Key: "mean", Format: "%.6g"},
			{Name: "std. error", Key: "stderr", Format: "%.2g"}, {Name: "z", Key: "z", Format: "%+.2f"},
		},
	}
	for i, r := range t.Pairs {
		table.Rows = append(table.Rows, []any{i, r.Truth, r.Mean, r.StdErr, r.Z})
	}
	return table
}

// String returns the table in aligned columns.
func (t BiasTable) String() string { return t.Table().String() }
