package performer_test

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/performer"
)

// pairs is the O(L²) ground truth, in float64, of linear attention with the features that the maps
// give: logarithms of the weights A_ij for log-features; otherwise A_ij and, if any term is
// negative, the sums of the absolute values of their terms. Those of causal attention are of the
// keys that queries see.
type pairs struct {
	log          bool
	weight, size dense.Matrix[float64]
	features     int
	spread       float64 // of the log-features
	unitRoundoff float64
	lost         float64 // greatest weight, relative to the largest, that may vanish
	causal       bool
}

func newPairs[T dense.Float](a performer.Linear[T], q, k dense.Matrix[T]) *pairs {
	p := &pairs{log: performer.InsideOf(a).Engine.Logs, features: performer.InsideOf(a).M, unitRoundoff: densetest.Roundoff[T](), causal: performer.InsideOf(a).Options.Causal}
	p.weight = dense.New[float64](q.Rows, k.Rows)
	var fq, fk dense.Matrix[float64]
	if p.log {
		fq = dense.Copy(fq, performer.InsideOf(a).Engine.Features.Queries(dense.Matrix[T]{}, q))
		fk = dense.Copy(fk, performer.InsideOf(a).Engine.Features.Keys(dense.Matrix[T]{}, k))
		p.spread = spread(fq) + spread(fk)
		p.lost = float64(performer.InsideOf(a).M) * 0x1p-90
		if p.unitRoundoff < 0x1p-50 {
			p.lost = float64(performer.InsideOf(a).M) * 0x1p-770
		}
	} else {
		fq = dense.Copy(fq, performer.InsideOf(a).Query.Transform(dense.Matrix[T]{}, q))
		fk = dense.Copy(fk, performer.InsideOf(a).Key.Transform(dense.Matrix[T]{}, k))
	}
	if p.log {
		p.logWeights(fq, fk)
		return p
	}
	outer(p.weight, fq, fk, p.causal)
	if least(fq) < 0 || least(fk) < 0 {
		p.size = outer(dense.New[float64](q.Rows, k.Rows), sizes(fq), sizes(fk), p.causal)
	}
	return p
}

// outer sets dst to x·yᵀ, or if it is causal its lower triangle, with the sums of four elements at
// a time.
func outer(dst, x, y dense.Matrix[float64], causal bool) dense.Matrix[float64] {
	for i := range x.Rows {
		a, sums, j, n := x.Row(i), dst.Row(i), 0, y.Rows
		if causal {
			n = i + 1
		}
		for ; j+4 <= n; j += 4 {
			b0, b1, b2, b3 := y.Row(j)[:len(a)], y.Row(j + 1)[:len(a)], y.Row(j + 2)[:len(a)], y.Row(j + 3)[:len(a)]
			var s0, s1, s2, s3 float64
			for f, v := range a {
				s0 += v * b0[f]
				s1 += v * b1[f]
				s2 += v * b2[f]
				s3 += v * b3[f]
			}
			sums[j], sums[j+1], sums[j+2], sums[j+3] = s0, s1, s2, s3
		}
		for ; j < n; j++ {
			s := 0.0
			for f, v := range a {
				s += v * y.Row(j)[f]
			}
			sums[j] = s
		}
	}
	return dst
}

// least returns the least element of m, or 0 if none is less.
func least(m dense.Matrix[float64]) float64 {
	v := 0.0
	for _, x := range m.Data {
		v = min(v, x)
	}
	return v
}

// sizes returns the absolute values of m.
func sizes(m dense.Matrix[float64]) dense.Matrix[float64] {
	a := m.Clone()
	for i, x := range a.Data {
		a.Data[i] = math.Abs(x)
	}
	return a
}

// of returns the truth under other options, which have the same weights. The truth of causal
// attention has too few for bidirectional options.
func (p *pairs) of(opts performer.LinearOptions) *pairs {
	q := *p
	q.causal = opts.Causal
	return &q
}

// logWeights sets the weights to log Σ_f exp(ℓq_if + ℓk_jf).
func (p *pairs) logWeights(fq, fk dense.Matrix[float64]) {
	eq, peakQ := exponentials(fq)
	ek, peakK := exponentials(fk)
	outer(p.weight, eq, ek, p.causal)
	for i := range fq.Rows {
		weight := p.weight.Row(i)
		if p.causal {
			weight = weight[:i+1]
		}
		for j, sum := range weight {
			if sum > 1e-200 {
				weight[j] = math.Log(sum) + peakQ[i] + peakK[j]
			} else {
				weight[j] = logSumExp(fq.Row(i), fk.Row(j))
			}
		}
	}
}

// exponentials returns exp(m_if − peak_i), where peak_i is the maximum of row i.
func exponentials(m dense.Matrix[float64]) (e dense.Matrix[float64], peaks []float64) {
	e, peaks = dense.New[float64](m.Rows, m.Cols), make([]float64, m.Rows)
	for i := range m.Rows {
		peaks[i] = slices.Max(m.Row(i))
		for f, x := range m.Row(i) {
			e.Set(i, f, math.Exp(x-peaks[i]))
		}
	}
	return e, peaks
}

// spread returns the difference of the largest and the smallest finite element.
func spread(m dense.Matrix[float64]) float64 {
	lo, hi := 0.0, 0.0
	for _, x := range m.Data {
		if !math.IsInf(x, 0) && !math.IsNaN(x) {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	return hi - lo
}

// logSumExp returns log Σ_f exp(x_f + y_f).
func logSumExp(x, y []float64) float64 {
	peak := math.Inf(-1)
	for f := range x {
		peak = max(peak, x[f]+y[f])
	}
	if math.IsInf(peak, -1) {
		return peak
	}
	sum := 0.0
	for f := range x {
		sum += math.Exp(x[f] + y[f] - peak)
	}
	return peak + math.Log(sum)
}

// attend returns the outputs for values v and a bound on the error of each:
// n·ε·Σ|terms| of numerator and denominator, where n counts the roundings of a
// term: two sums, and for log-features an exponential of an argument as large
// as their spread. Weights of log-features that are smaller than the largest by
// more than the range of T, less what a chunk leaves room for, are lost.
func (p *pairs) attend(v dense.Matrix[float64]) (out, tol dense.Matrix[float64]) {
	out, tol = dense.New[float64](p.weight.Rows, v.Cols), dense.New[float64](p.weight.Rows, v.Cols)
	columns, lost := dense.New[float64](2*v.Cols+1, v.Rows), make([]float64, v.Cols)
	dense.Transpose(columns.RowRange(0, v.Cols), v)
	dense.Transpose(columns.RowRange(v.Cols, 2*v.Cols), sizes(v))
	for j := range v.Rows {
		columns.Row(2 * v.Cols)[j] = 1
	}
	for c := range lost {
		lost[c] = p.lost * absSum(v, c)
	}
	linear := make([]float64, p.weight.Cols)
	of, ofSizes := dense.New[float64](1, 2*v.Cols+1), dense.New[float64](1, 2*v.Cols+1)
	for i := range p.weight.Rows {
		n := p.weight.Cols
		if p.causal {
			n = i + 1
		}
		weight, shift := p.weight.Row(i)[:n], 0.0
		if p.log {
			shift = math.Inf(-1)
			for _, w := range weight {
				shift = max(shift, w)
			}
			for j, w := range weight {
				linear[j] = math.Exp(w - shift)
			}
			weight = linear[:n]
		}
		sums := outer(of, dense.Of(1, n, weight), columns, false).Row(0)
		sumsOfSizes := sums
		if p.size.Data != nil {
			sumsOfSizes = outer(ofSizes, p.size.RowRange(i, i+1).ColRange(0, n), columns, false).Row(0)
		}
		total, totalSize := sums[2*v.Cols], sumsOfSizes[2*v.Cols]
		factor := float64(p.features+n+16) + 2*p.spread
		factor *= 2 * p.unitRoundoff
		for c := range v.Cols {
			sum, sumSize := sums[c], sumsOfSizes[v.Cols+c]
			out.Set(i, c, sum/total)
			tol.Set(i, c, factor*(sumSize+math.Abs(sum/total)*totalSize)/math.Abs(total)+lost[c])
		}
	}
	return out, tol
}

// absSum returns the sum of the absolute values of column c.
func absSum(m dense.Matrix[float64], c int) float64 {
	sum := 0.0
	for i := range m.Rows {
		sum += math.Abs(m.At(i, c))
	}
	return sum
}

// largest returns the largest element of m, or 0.
func largest(m dense.Matrix[float64]) float64 {
	v := 0.0
	for _, x := range m.Data {
		v = max(v, x)
	}
	return v
}
