package audit

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/clusters"
	"github.com/seed-feabd252/randfeat/performer/internal/cost"
	"github.com/seed-feabd252/randfeat/rff"
)

// kind is a kind of attention, in several sizes. The error falls and the cost grows with the size.
type kind[T dense.Float] struct {
	name  string
	sizes []int // ascending; nil means 32, 64, 128, …

	// title returns the name of a size for a number of keys; nil means size and name.
	title func(size, keys int, causal bool) string

	// create makes attention of a size that approximates exact attention of the queries q (Lq×d)
	// over the keys k (Lk×d).
	create func(s performer.Softmax, q, k dense.Matrix[T], size int, src rand.Source) (performer.Attention[T], error)

	// cost predicts the time of a call, in multiply-adds of T that take as long. preparation
	// predicts the time of create; nil means no time.
	cost, preparation func(c call) float64

	// prefixes says that the attention is clusters.Attention, so that causal attention of some
	// queries does not compute the other outputs.
	prefixes bool

	// fixed says that the attention does not depend on random numbers, so that two draws are equal.
	fixed bool

	// sweep returns the outputs of attention that create has made in all sizes, and the numbers of
	// scored keys of each size and query. prefixes are those of clusters.Attention, or nil. nil
	// means that sizes are tried one after another.
	sweep func(a performer.Attention[T], q, k, v dense.Matrix[T], prefixes []int) (outs []dense.Matrix[T], scored [][]int)
}

// call has the sizes that determine the cost of a call. A causal call with fewer queries than keys
// computes some of the outputs of a call with as many queries as keys.
type call struct {
	queries, keys int
	dim, values   int // of queries and keys, and of values
	size          int // of the attention
	causal        bool
	scored        float64 // keys that a query scores on average; 0 means not known
}

// shape returns the shape of c for attention with projected features.
func shape[T dense.Float](c call) cost.Shape {
	return cost.Shape{
		Queries: c.queries, Keys: c.keys, Dim: c.dim, Values: c.values, Features: c.size, Projected: true, Causal: c.causal,
		ElementSize: simd.Size[T](),
	}
}

// exactCost returns the cost of exact attention.
func exactCost[T dense.Float](c call) float64 {
	s := shape[T](c)
	return s.Work(s.Exact())
}

// allKinds returns the kinds of attention that [Choose] tries for a number of keys.
func allKinds[T dense.Float](keys int) []kind[T] {
	return []kind[T]{
		clusterKind[T](keys),
		{name: "bits", sizes: []int{8}, fixed: true, create: func(s performer.Softmax, _, _ dense.Matrix[T], size int, _ rand.Source) (performer.Attention[T], error) {
			return performer.NewExact[T](performer.ExactOptions{Softmax: s, Bits: size})
		}, cost: func(c call) float64 { return bitsCost * exactCost[T](c) }},
		{name: "trigonometric features", preparation: drawCost, create: func(s performer.Softmax, q, k dense.Matrix[T], size int, src rand.Source) (performer.Attention[T], error) {
			return newFeatures(s, q, k, size, src, func(_, _ dense.Matrix[T], scale float64) (rff.Spec, error) {
				return rff.SoftmaxTrig{Scale: scale}, nil
			})
		}, cost: func(c call) float64 {
			// A projection has two features.
			s := shape[T](c)
			one := s.Linear()
			s.Projected = false
			return s.Work(cost.Cost{MACs: one.MACs + s.Linear().MACs, Exps: 2 * one.Exps})
		}},
		{name: "positive features", preparation: func(c call) float64 { return drawCost(c) + fitCost(c) }, create: func(s performer.Softmax, q, k dense.Matrix[T], size int, src rand.Source) (performer.Attention[T], error) {
			return newFeatures(s, q, k, size, src, func(q, k dense.Matrix[T], scale float64) (rff.Spec, error) {
				return rff.FitSDERF(q, k, scale)
			})
		}, cost: func(c call) float64 {
			s := shape[T](c)
			return s.Work(s.Linear())
		}},
	}
}

// bitsCost is the cost of exact attention in 8 bits relative to exact attention. bitsCost was
// measured on processors that multiply bytes, and rounded up for other processors.
const bitsCost = 0.4

// clusterKind returns clusters of keys in 8 bits. The size is the number of a threshold.
func clusterKind[T dense.Float](keys int) kind[T] {
	const largest, step = 4, 1.25
	smallest := 16 / float64(max(keys, 1024)) // the errors of longer heads are larger
	var sizes []int
	var thresholds []float64
	for x := float64(largest); x >= smallest; x /= step {
		sizes, thresholds = append(sizes, len(sizes)), append(thresholds, x)
	}
	return kind[T]{
		name: "clusters of keys", sizes: sizes, prefixes: true,
		title: func(size, keys int, causal bool) string {
			return fmt.Sprintf("%d clusters of keys with threshold %.2g", clusterCount(keys, causal), thresholds[size])
		},
		create: func(s performer.Softmax, _, k dense.Matrix[T], size int, src rand.Source) (performer.Attention[T], error) {
			return clusters.New[T](clusters.Options{
				Softmax: s, EightBits: true, Clusters: clusterCount(k.Rows, s.Causal), Threshold: thresholds[size], Iterations: 2,
			}, src)
		},
		sweep: func(a performer.Attention[T], q, k, v dense.Matrix[T], prefixes []int) ([]dense.Matrix[T], [][]int) {
			return a.(clusters.Attention[T]).ForwardThresholds(q, k, v, prefixes, thresholds)
		},
		cost: clusterCost[T],
	}
}

// clusterSegment is the number of keys that causal attention divides into clusters together.
const clusterSegment = 256

// clusterCount returns the number of clusters of n keys, or of a segment of causal attention, with
// which the heads of a trained transformer took the least time.
func clusterCount(n int, causal bool) int {
	if causal {
		return 8
	}
	return max(min(n/64, int(2*math.Sqrt(float64(n)))), 1)
}

// clusterCost returns the cost of clusters of keys, in 8 bits. Unless c has the number of scored
// keys, their share is that of heads of a trained transformer. Diffuse attention has more such
// keys. k-means has two rounds over 16 keys a cluster. A causal query has exact weights for the
// keys of its own segment, half a segment on average.
func clusterCost[T dense.Float](c call) float64 {
	// Measured: what each key costs besides its distances from centres, and the cost of these.
	const rounds, keysPerCluster, perKey, perDistance = 2, 16, 2e4, 2.5
	exact, share := c, 1.0
	exact.size = 0
	if c.causal {
		exact.queries, share = c.keys, float64(c.queries)/float64(max(c.keys, 1))
	}
	pairs := exactCost[T](exact)
	if c.causal && c.keys <= clusterSegment {
		return share * pairs
	}
	size := float64(clusterCount(c.keys, c.causal)) // of a segment
	assigned := float64(c.keys) * (1 + rounds*min(1, keysPerCluster*size/min(float64(c.keys), clusterSegment)))
	seen, own := size, 0.0 // clusters that a query scores on average, and the share of own keys
	scored := c.scored / float64(c.keys)
	if c.causal {
		seen *= float64(c.keys) / (2 * clusterSegment)
		own = clusterSegment / float64(c.keys)
		scored *= 2
	} else {
		assigned = float64(c.keys) + rounds*min(keysPerCluster*size, float64(c.keys))
	}
	if c.scored == 0 {
		scored = 0.01 * math.Exp(0.09*float64(c.size)) * math.Sqrt(256/seen)
	}
	build := perKey*float64(c.keys) + perDistance*assigned*size*float64(c.dim)
	return build + share*(float64(exact.queries)*seen*float64(c.dim+c.values+50)+(own+2*bitsCost*min(scored, 1))*pairs)
}

// drawCost returns the measured cost of orthogonal frequencies and of the means of queries and
// keys.
func drawCost(c call) float64 {
	d := float64(c.dim)
	return 200*float64(c.size)*d*d + 10*float64(c.queries+c.keys)*d
}

// fitCost returns the measured cost of the fit of positive features: products of the points in
// float64, and eigenvectors.
func fitCost(c call) float64 {
	d := float64(c.dim)
	return 8*float64(min(c.queries, fitRows)+min(c.keys, fitRows))*d*d + 1000*d*d*d
}

const (
	fitRows       = 4096 // the most rows for means and for the fit of a map
	causalFitRows = 1024 // the first tokens, for causal attention
)

// newFeatures returns linear attention with a centred map over orthogonal frequencies.
func newFeatures[T dense.Float](s performer.Softmax, q, k dense.Matrix[T], size int, src rand.Source, fit func(q, k dense.Matrix[T], scale float64) (rff.Spec, error)) (performer.Attention[T], error) {
	w, err := orf.Draw[T](orf.GramSchmidt{}, size, q.Cols, src)
	if err != nil {
		return nil, err
	}
	queries, b, err := rff.SubtractMean(fitSample(q, s.Causal))
	if err != nil {
		return nil, err
	}
	keys, c, err := rff.SubtractMean(fitSample(k, s.Causal))
	if err != nil {
		return nil, err
	}
	spec, err := fit(queries, keys, scaleOf(s, q.Cols))
	if err != nil {
		return nil, err
	}
	inner, err := rff.Draw(spec, w)
	if err != nil {
		return nil, err
	}
	phi, err := rff.Centred(inner, b, c)
	if err != nil {
		return nil, err
	}
	return performer.NewLinear(phi, performer.LinearOptions{Causal: s.Causal})
}

// fitSample returns the rows of x that maps are fitted to: the first rows for causal attention,
// rows at equal distances otherwise.
func fitSample[T dense.Float](x dense.Matrix[T], causal bool) dense.Matrix[T] {
	if causal {
		return x.RowRange(0, min(x.Rows, causalFitRows))
	}
	step := (x.Rows + fitRows - 1) / fitRows
	if step <= 1 {
		return x
	}
	return dense.Matrix[T]{Rows: (x.Rows + step - 1) / step, Cols: x.Cols, Data: x.Data, Stride: x.Stride * step}
}
