package estimate

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/welford"
)

type moments struct {
	n                   float64
	mean, rest, squares dense.Matrix[float64]
}

func newMoments(r, c int) *moments {
	return &moments{mean: dense.New[float64](r, c), rest: dense.New[float64](r, c), squares: dense.New[float64](r, c)}
}

func (s *moments) add(x dense.Matrix[float64]) {
	s.n++
	for i, v := range x.Data {
		welford.Add(s.n, v, &s.mean.Data[i], &s.rest.Data[i], &s.squares.Data[i])
	}
}

func (s *moments) stderr(i int) float64 { return welford.StdErr(s.n, s.squares.Data[i]) }

func writeMoments[T dense.Float](mean, stderr dense.Matrix[T], s *moments) {
	for i := range mean.Rows {
		m, e := mean.Row(i), stderr.Row(i)
		for j := range m {
			at := i*len(m) + j
			m[j], e[j] = T(s.mean.Data[at]), T(s.stderr(at))
		}
	}
}
