package main

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/rff"
)

const (
	biasPairs = 64 // pairs of a query and a key
	biasDraws = 48 // draws of the frequencies
)

// pairs are queries, keys (a row each) and scale·qᵀk, the logarithm of the kernel.
type pairs[T dense.Float] struct {
	q, k dense.Matrix[T]
	log  []float64
}

// samplePairs takes queries and keys at random. It avoids pairs of equal vectors where it can. Such
// pairs have the largest exponent, and rare, huge draws decide the mean of their estimates: a few
// dozen draws may hold none of them.
func samplePairs[T dense.Float](heads []head[T], scale float64, src rand.Source) pairs[T] {
	rng := rand.New(src)
	d := heads[0].q.Cols
	p := pairs[T]{q: dense.New[T](biasPairs, d), k: dense.New[T](biasPairs, d), log: make([]float64, biasPairs)}
	for i := range biasPairs {
		for range 20 {
			h := heads[rng.IntN(len(heads))]
			copy(p.q.Row(i), h.q.Row(rng.IntN(h.q.Rows)))
			copy(p.k.Row(i), h.k.Row(rng.IntN(h.k.Rows)))
			if !slices.Equal(p.q.Row(i), p.k.Row(i)) {
				break
			}
		}
		for j, v := range p.q.Row(i) {
			p.log[i] += scale * float64(v) * float64(p.k.Row(i)[j])
		}
	}
	return p
}

// meanError returns the mean over the pairs of φ(q)ᵀφ(k)/exp(scale·qᵀk) − 1.
func (p pairs[T]) meanError(f rff.Map[T]) float64 {
	log, inLogs := f.(rff.LogMap[T])
	transform := f.Transform
	if inLogs {
		transform = log.LogTransform
	}
	var zero dense.Matrix[T]
	fq, fk := transform(zero, p.q), transform(zero, p.k)
	var total float64
	for i, truth := range p.log {
		var ratio float64
		b := fk.Row(i)
		for j, a := range fq.Row(i) {
			if inLogs {
				ratio += math.Exp(float64(a) + float64(b[j]) - truth)
			} else {
				ratio += float64(a) * float64(b[j])
			}
		}
		if !inLogs {
			ratio /= math.Exp(truth)
		}
		total += ratio - 1
	}
	return total / float64(len(p.log))
}

// score returns the mean of x in standard errors of that mean.
func score(x []float64) float64 {
	mean, spread := stat.MeanStdDev(x, nil)
	return mean / stat.StdErr(spread, float64(len(x)))
}
