package validate

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
)

// VarianceRow is the mean squared error of the estimates at one pair.
type VarianceRow struct {
	// Truth is k(x, y), MSE the mean over draws of (φ(x)ᵀφ(y) − k(x, y))², StdErr
	// the standard error of that mean. For an unbiased map MSE estimates the
	// variance of φ(x)ᵀφ(y).
	Truth, MSE, StdErr float64
}

// VarianceTable is the result of Variance, one row a pair.
type VarianceTable struct {
	Kernel kernels.Kernel
	Draws  int
	Pairs  []VarianceRow
	// MSE is the mean over pairs, StdErr its standard error over draws; NaN with an
	// error. (Pairs share their draws, so it is not made of the errors of the rows.)
	MSE, StdErr float64
}

// Variance estimates the kernel at the pairs (x_i, y_i), the rows of x and y
// (both n×d), with each of draws ≥ 2 maps, and returns the mean squared error at
// each pair with its standard error. The error is that against the kernel, so
// that a biased map shows its bias here too. Sources, determinism, memory and
// errors are those of Bias.
func Variance[T dense.Float](draw Draw[T], x, y dense.Matrix[T], draws int, src rand.Source, opts ...Option) (VarianceTable, error) {
	m, err := measure(draw, x, y, draws, src, controlled(draws, opts), nil)
	if err != nil {
		return VarianceTable{MSE: math.NaN(), StdErr: math.NaN()}, fmt.Errorf("validate: %w", err)
	}
	return m.variance(), nil
}

func (m *measurement) variance() VarianceTable {
	t := VarianceTable{
		Kernel: m.kernel, Draws: m.draws, Pairs: make([]VarianceRow, len(m.truth)),
		MSE: m.overall.mean, StdErr: m.overall.stdErr(),
	}
	for i, truth := range m.truth {
		t.Pairs[i] = VarianceRow{Truth: truth, MSE: m.squares[i].mean, StdErr: m.squares[i].stdErr()}
	}
	return t
}

// Table returns the rows with their numbers, and a last one for all pairs.
func (t VarianceTable) Table() Table {
	table := Table{
		Title: fmt.Sprintf("mean squared error against %v, %d draws", t.Kernel, t.Draws),
		Columns: []Column{
			{Name: "pair", Key: "pair"}, {Name: "truth", Key: "truth", Format: "%.6g"},
			{Name: "MSE", Key: "mse", Format: "%.4g"}, {Name: "std. error", Key: "stderr", Format: "%.2g"},
		},
	}
	for i, r := range t.Pairs {
		table.Rows = append(table.Rows, []any{i, r.Truth, r.MSE, r.StdErr})
	}
	table.Rows = append(table.Rows, []any{"all", nil, t.MSE, t.StdErr})
	return table
}

// String returns the table in aligned columns.
func (t VarianceTable) String() string { return t.Table().String() }
