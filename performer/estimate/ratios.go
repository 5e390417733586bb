package estimate

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer/internal/linear"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
)

// ratios holds the numerators and the denominator of the outputs of some queries, summed over sets
// of features. Row i of terms has the factor 2^exponent[i], the largest exponent of its summands.
// The sum loses only what is below 2⁻¹⁰⁷⁴ of the largest summand.
type ratios struct {
	terms    dense.Matrix[float64] // Lq×(dv+1), the denominator last
	exponent []float64             // integers, or −Inf for a row without features
}

func (r *ratios) reset(n, dv int) {
	if r.terms.Rows != n || r.terms.Cols != dv+1 {
		r.terms, r.exponent = dense.New[float64](n, dv+1), make([]float64, n)
	}
	clear(r.terms.Data)
	for i := range r.exponent {
		r.exponent[i] = math.Inf(-1)
	}
}

// addFeatures adds linear attention to the ratios r. It returns memory, which holds what it added.
func addFeatures[T dense.Float](r *ratios, a linear.Fractional[T], memory linear.Fractions[T], q, k, v dense.Matrix[T]) linear.Fractions[T] {
	memory = a.Fractions(memory, q, k, v)
	for i := range q.Rows {
		addRow(r, i, memory.Numerators.Row(i), memory.Denominators.At(i, 0),
			float64(memory.Factors.At(i, 0)), float64(memory.Exponents.At(i, 0)))
	}
	return memory
}

// addRow adds factor·2^exponent times a numerator and its denominator to row i of r. addRow adds
// nothing if the denominator is zero.
func addRow[T dense.Float](r *ratios, i int, numerator []T, denominator T, factor, exponent float64) {
	if denominator == 0 {
		return
	}
	row := r.terms.Row(i)
	if old := r.exponent[i]; exponent > old {
		lower := logscale.Ldexp(1, old-exponent)
		for j := range row {
			row[j] *= lower
		}
		r.exponent[i] = exponent
	} else {
		factor = logscale.Ldexp(factor, exponent-old)
	}
	for j, v := range numerator {
		row[j] += factor * float64(v)
	}
	row[len(numerator)] += factor * float64(denominator)
}

func (r *ratios) add(other *ratios) {
	for i := range r.exponent {
		row := other.terms.Row(i)
		addRow(r, i, row[:len(row)-1], row[len(row)-1], 1, other.exponent[i])
	}
}

// outputs writes numerators over denominators into dst (Lq×dv), NaN for a row without features.
func (r *ratios) outputs(dst dense.Matrix[float64]) {
	for i := range dst.Rows {
		row := r.terms.Row(i)
		total := row[dst.Cols]
		for j := range dst.Row(i) {
			dst.Row(i)[j] = row[j] / total
		}
	}
}
