package performer

import (
	"math"
	"runtime"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/rff"
)

// extraColumns is what a row of sums has beyond numerator and denominator: factor and
// exponent of its scale.
const extraColumns = 2

// summing is attention that stops before the division, so that the sums of several
// sets of features can be added up: row i is the numerator and the denominator
// divided by factor·2^exponent, then factor and exponent. It belongs to one goroutine.
type summing[T dense.Float] struct {
	a   *Attention[T]
	out scratch.Buffer[T] // Lq×(dv + 1 + extraColumns)
}

// newSumming returns the sums of attention with these maps.
func newSumming[T dense.Float](query, key rff.Map[T], causal bool) (*summing[T], error) {
	a, err := newAttention(query, key, Options{Causal: causal})
	if err != nil {
		return nil, err
	}
	a.sums, a.direct = true, false
	return &summing[T]{a: a}, nil
}

// redraw makes phi, with as many features as before, the map of queries and keys.
func (s *summing[T]) redraw(phi rff.LogMap[T]) {
	s.a.setMaps(phi, phi)
}

// addTo adds the sums of the queries over the keys, of which there are some, to p.
func (s *summing[T]) addTo(p *pooled, q, k, v dense.Matrix[T]) {
	s.out.Shape(q.Rows, v.Cols+1+extraColumns)
	out := s.out.Rows(q.Rows)
	if s.a.opts.Causal {
		s.a.causal(windowOf(q.Rows, runtime.GOMAXPROCS(0)), out, q, k, v, nil)
	} else {
		s.a.bidirectional(1, out, q, k, v)
	}
	n := v.Cols + 1
	for i := range out.Rows {
		row := out.Row(i)
		addRow(p, i, row[:n], float64(row[n]), float64(row[n+1]))
	}
}

// leave writes the sums of a row and their scale into dst. Features that are not
// logarithms have the scale 1.
func (a *Attention[T]) leave(dst, sums []T, s scale) {
	n := copy(dst, sums)
	if !a.logs {
		s = scale{factor: 1}
	}
	dst[n], dst[n+1] = T(s.factor), T(s.exponent)
}

// pooled holds numerators and denominators of some queries, summed over sets of
// features: row i of the sums is to be multiplied by 2^exponent[i]. Bringing what is
// added to the larger of two exponents rounds nothing but what falls below 2⁻¹⁰⁷⁴ of
// it, and keeps the largest near 1: features of whatever size can be added.
type pooled struct {
	sums     dense.Matrix[float64] // Lq×(dv+1)
	exponent []float64             // integers, or −Inf for a row without sums
}

// empty makes p the sum over no features, for n queries and values of dimension dv.
func (p *pooled) empty(n, dv int) {
	if p.sums.Rows != n || p.sums.Cols != dv+1 {
		p.sums, p.exponent = dense.New[float64](n, dv+1), make([]float64, n)
	}
	clear(p.sums.Data)
	fill(p.exponent, math.Inf(-1))
}

// addRow adds factor·2^exponent times x to row i of p. A denominator of zero has
// nothing to add.
func addRow[T dense.Float](p *pooled, i int, x []T, factor, exponent float64) {
	if x[len(x)-1] == 0 {
		return
	}
	row := p.sums.Row(i)
	if old := p.exponent[i]; exponent > old {
		lower := ldexp(1, old-exponent)
		for j := range row {
			row[j] *= lower
		}
		p.exponent[i] = exponent
	} else {
		factor = ldexp(factor, exponent-old)
	}
	for j, v := range x {
		row[j] += factor * float64(v)
	}
}

// add adds the sums of other, for as many queries and values.
func (p *pooled) add(other *pooled) {
	for i := range p.exponent {
		addRow(p, i, other.sums.Row(i), 1, other.exponent[i])
	}
}

// quotients writes the outputs of attention, numerators over denominators, into dst
// (Lq×dv). A row over no features is NaN.
func (p *pooled) quotients(dst dense.Matrix[float64]) {
	for i := range dst.Rows {
		row := p.sums.Row(i)
		total := row[dst.Cols]
		for j := range dst.Row(i) {
			dst.Row(i)[j] = row[j] / total
		}
	}
}
