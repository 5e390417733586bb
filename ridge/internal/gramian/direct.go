package gramian

import (
	"context"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cholesky"
)

// System is A = K + λΩ⁻¹ for a kernel matrix K and the weights Ω of rows.
type System struct {
	Factor *cholesky.Factor
	Ones   []float64 // A⁻¹1
	Ridge  []float64 // λ/ω
}

// Unit returns the mean of ω·k(x, x), the unit of λ.
func Unit(gram dense.Matrix[float64], weights []float64) float64 {
	unit := 0.0
	for i, w := range weights {
		unit += w * gram.At(i, i) / float64(len(weights))
	}
	return unit
}

// NewSystem overwrites the kernel matrix.
func NewSystem(ctx context.Context, gram dense.Matrix[float64], weights []float64, ratio float64) (s *System, err error) {
	s = &System{Ones: make([]float64, gram.Rows), Ridge: make([]float64, gram.Rows)}
	const most = 1e100 // whose square is finite, for weights that are almost 0
	for i, w := range weights {
		s.Ones[i], s.Ridge[i] = 1, min(ratio/w, most)
		gram.Row(i)[i] += s.Ridge[i]
	}
	if s.Factor, err = cholesky.New(ctx, gram); err == nil {
		s.Factor.Solve(dense.Of(gram.Rows, 1, s.Ones))
	}
	return s, err
}

// Fit returns the weights a = A⁻¹(y − b) and the constants b for which the columns of a sum to 0.
func (s *System) Fit(y dense.Matrix[float64]) (a dense.Matrix[float64], b []float64) {
	a, b = y.Clone(), make([]float64, y.Cols)
	s.Factor.Solve(a)
	for i := range a.Rows {
		floats.Add(b, a.Row(i))
	}
	floats.Scale(1/floats.Sum(s.Ones), b)
	for i, u := range s.Ones {
		floats.AddScaled(a.Row(i), -u, b)
	}
	return a, b
}

// Offsets returns, for each column of a but the last, the multiple of the last column that has the
// same sum.
func Offsets(a dense.Matrix[float64]) []float64 {
	sums, last := make([]float64, a.Cols), a.Cols-1
	for i := range a.Rows {
		for j, v := range a.Row(i) {
			sums[j] += v
		}
	}
	for j := range last {
		sums[j] /= sums[last]
	}
	return sums[:last]
}
