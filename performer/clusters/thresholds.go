package clusters

import (
	"math"
	"sort"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// sweep holds the thresholds and outputs of one call of ForwardThresholds.
type sweep[T dense.Float] struct {
	thresholds []float64 // descending
	outs       []dense.Matrix[T]
	scored     [][]int // of each threshold and query: keys that the query scores from there on
}

func (a *attention[T]) forwardThresholds(q, k, v dense.Matrix[T], thresholds []float64) (outs []dense.Matrix[T], scored [][]int) {
	a.check(q, k, v)
	last := math.Inf(1)
	for _, x := range thresholds {
		if !(x > 0 && x <= last) {
			panic("clusters: thresholds are not positive and descending")
		}
		last = x
		outs, scored = append(outs, dense.New[T](q.Rows, v.Cols)), append(scored, make([]int, q.Rows))
	}
	switch {
	case len(thresholds) == 0:
	case k.Rows <= exactKeys || q.Rows == 0 || v.Cols == 0:
		for _, out := range outs {
			a.exact(out, q, k, v)
		}
	default:
		b := *a
		b.Threshold = max(last, 1e-15) // its square is a normal float32
		b.attend(outs[0], q, k, v, &sweep[T]{thresholds, outs, scored})
	}
	for i := 1; i < len(thresholds); i++ {
		for j, n := range scored[i-1] {
			scored[i][j] += n
		}
	}
	return outs, scored
}

// sweepScratch is the scratch memory of one goroutine for sweepScored.
type sweepScratch[T dense.Float] struct {
	base  scratch.Buffer[T] // of each query: sums without scored keys
	steps scratch.Buffer[T] // of each query and threshold: what the keys scored there change
	has   []bool            // whether there are such keys
}

var sweepScratches pool.Pair[sweepScratch[float32], sweepScratch[float64]]

// sweepScored writes the outputs of the queries of a block from query lo on at each threshold. b
// has listed the queries that score keys at the last threshold.
func (c *call[T]) sweepScored(b *accumulator[T], q dense.Matrix[T], lo int) {
	w, e, n, count := c.sweep, pool.Get[sweepScratch[T]](&sweepScratches), q.Rows, len(c.sweep.thresholds)
	sums := b.sums.Rows(n)
	e.base.Shape(n, sums.Cols)
	e.steps.Shape(n*count, sums.Cols)
	base, steps := dense.Copy(e.base.Rows(n), sums), e.steps.Rows(n*count)
	e.has = scratch.Resize(e.has, n*count)
	clear(e.has)
	clear(b.sums.Data)
	s := &c.division
	for l := range s.clusters() {
		list, shares := b.scorers(l)
		b.addCluster(s, l, list, shares, q)
		for j, i := range list {
			sum, share := sums.Row(int(i)), float64(shares[j])
			from := b.criterion(s, l, int(i), share)
			if share <= 0 {
				share = math.Exp(share)
			}
			vecmath.AddScaled(base.Row(int(i)), s.values.Row(l), T(share))
			vecmath.AddScaled(sum, s.values.Row(l), T(-share))
			t := sort.Search(count-1, func(t int) bool { return from > w.thresholds[t] })
			at := int(i)*count + t
			if e.has[at] {
				vecmath.AddScaled(steps.Row(at), sum, 1)
			} else {
				copy(steps.Row(at), sum)
				e.has[at] = true
			}
			clear(sum)
			w.scored[t][lo+int(i)] += s.count(l)
		}
	}
	var bad []int32  // queries with sums out of range
	var places []int // queries and thresholds of these sums, as places in has
	for i := range n {
		at, sum, good := i*count, base.Row(i), false
		for t, out := range w.outs {
			switch {
			case e.has[at+t]:
				vecmath.AddScaled(sum, steps.Row(at+t), 1)
				fallthrough
			case t == 0:
				good = quotient(out.Row(lo+i), sum)
			default:
				copy(out.Row(lo+i), w.outs[t-1].Row(lo+i))
			}
			if !good {
				places = append(places, at+t)
			}
		}
		if len(places) > 0 && places[len(places)-1] >= at {
			bad = append(bad, int32(i))
		}
	}
	if len(bad) > 0 {
		exact := dense.New[T](n, w.outs[0].Cols)
		c.exactly(exact, bad, lo)
		for _, at := range places {
			copy(w.outs[at%count].Row(lo+at/count), exact.Row(at/count))
		}
	}
	pool.Put(&sweepScratches, e)
}

// criterion returns the threshold below which query i of the block scores the keys of cluster l.
// share is its weight, or the logarithm if not above 0. addPart compares the same numbers with its
// threshold.
func (b *accumulator[T]) criterion(s *division[T], l, i int, share float64) float64 {
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
