package clusters

import (
	"math"
	"sort"
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// sweep holds the thresholds and outputs of one call of ForwardThresholds.
type sweep[T dense.Float] struct {
	thresholds []float64 // descending
	outs       []dense.Matrix[T]

	mu     sync.Mutex
	scored []int // pairs of queries and keys, by the largest threshold below which the query scores the key
}

func (a *attention[T]) ForwardThresholds(q, k, v dense.Matrix[T], prefixes []int, thresholds []float64) (outs []dense.Matrix[T], scored []int) {
	a.check(q, k, v, false)
	if prefixes != nil {
		a.checkPrefixes(prefixes, q, k)
	}
	last := math.Inf(1)
	for _, x := range thresholds {
		if !(x > 0 && x <= last) {
			panic("clusters: thresholds are not positive and descending")
		}
		last = x
		outs = append(outs, dense.New[T](q.Rows, v.Cols))
	}
	s := &sweep[T]{thresholds: thresholds, outs: outs, scored: make([]int, len(thresholds))}
	switch {
	case len(thresholds) == 0:
	case prefixes == nil && (k.Rows <= exactKeys || q.Rows == 0 || v.Cols == 0):
		for _, out := range outs {
			a.exact.Forward(out, q, k, v)
		}
	default:
		b := *a
		b.threshold = T(max(last, 1e-15)) // its square is a normal float32
		b.attend(outs[0], q, k, v, prefixes != nil, prefixes, s)
	}
	for i := 1; i < len(thresholds); i++ {
		s.scored[i] += s.scored[i-1]
	}
	return outs, s.scored
}

// sweepScored writes the outputs of the queries of a block from query lo on at each threshold. b
// has listed the queries that score keys at the last threshold.
func (c *call[T]) sweepScored(b *accumulator[T], segments int, q dense.Matrix[T], lo int) {
	w, n := c.sweep, q.Rows
	sums, count := b.sums.Rows(n), len(w.thresholds)
	base := sums.Clone()
	clear(b.sums.Data)
	// By the largest threshold below which a query scores the keys of a cluster: the sums of the
	// keys, and what stands for them at larger thresholds. Differences would cancel.
	keys, means := dense.New[T](count*n, sums.Cols), dense.New[T]((count+1)*n, sums.Cols)
	scored := make([]int, count)
	cluster := 0
	for _, s := range c.index.segments[:segments] {
		for l := range s.clusters() {
			list, shares := b.scorers(cluster)
			b.addCluster(s, l, list, shares, q)
			for j, i := range list {
				sum, share := sums.Row(int(i)), float64(shares[j])
				from := b.criterion(s, l, int(i), share)
				if share <= 0 {
					share = math.Exp(share)
				}
				at := sort.Search(count-1, func(t int) bool { return from > w.thresholds[t] })
				vecmath.AddScaled(means.Row(at*n+int(i)), s.values.Row(l), T(share))
				vecmath.AddScaled(keys.Row(at*n+int(i)), sum, 1)
				clear(sum)
				scored[at] += s.count(l)
			}
			cluster++
		}
	}
	for i := count*n - 1; i >= 0; i-- {
		vecmath.AddScaled(means.Row(i), means.Row(i+n), 1)
	}
	for t, out := range w.outs {
		for i := range n {
			vecmath.AddScaled(base.Row(i), keys.Row(t*n+i), 1)
			copy(sums.Row(i), base.Row(i))
			vecmath.AddScaled(sums.Row(i), means.Row((t+1)*n+i), 1)
		}
		rows := out.RowRange(lo, lo+n)
		if bad := b.finish(rows); len(bad) > 0 {
			c.exactly(rows, bad, lo)
		}
	}
	w.mu.Lock()
	for t, x := range scored {
		w.scored[t] += x
	}
	w.mu.Unlock()
}

// criterion returns the threshold below which query i of the block scores the keys of cluster l.
// share is its weight, or the logarithm if not above 0. addPart compares the same numbers with its
// threshold.
func (b *accumulator[T]) criterion(s *segment[T], l, i int, share float64) float64 {
	norm, spread, n := float64(b.norms[i]), float64(s.spreads[l]), float64(s.count(l))
	relative := max(share, 0) * math.Sqrt(math.Expm1(min(2*norm*spread, 16))/n)
	if norm*float64(s.variances[l]) > most {
		if share > 0 {
			share = math.Log(share)
		}
		reach := (math.Sqrt(2*float64(s.logs[l])) + 1.5) * math.Sqrt(2*norm*spread)
		relative = max(relative, math.Exp(share+reach-most)/n)
	}
	return relative * float64(b.threshold) / math.Sqrt(float64(b.bounds[i]))
}
