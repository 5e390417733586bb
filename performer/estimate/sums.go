package estimate

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
)

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
	for i := range p.exponent {
		p.exponent[i] = math.Inf(-1)
	}
}

// addSums adds the sums of linear attention of the queries over the keys to p. memory is for these sums,
// and is returned.
func addSums[T dense.Float](p *pooled, a performer.Linear[T], memory, q, k, v dense.Matrix[T]) dense.Matrix[T] {
	memory = a.Sums(memory, q, k, v)
	n := v.Cols + 1
	for i := range memory.Rows {
		row := memory.Row(i)
		addRow(p, i, row[:n], float64(row[n]), float64(row[n+1]))
	}
	return memory
}

// addRow adds factor·2^exponent times x to row i of p. A denominator of zero has
// nothing to add.
func addRow[T dense.Float](p *pooled, i int, x []T, factor, exponent float64) {
	if x[len(x)-1] == 0 {
		return
	}
	row := p.sums.Row(i)
	if old := p.exponent[i]; exponent > old {
		lower := logscale.Ldexp(1, old-exponent)
		for j := range row {
			row[j] *= lower
		}
		p.exponent[i] = exponent
	} else {
		factor = logscale.Ldexp(factor, exponent-old)
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
