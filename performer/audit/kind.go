package audit

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/blocks"
	"github.com/seed-feabd252/randfeat/performer/internal/cost"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// kind is a kind of attention, in several sizes. The error falls and the cost grows with the size.
type kind[T dense.Float] struct {
	name  string
	sizes []int // ascending

	title  func(size int) string
	create func(s performer.Softmax, size int) (performer.Attention[T], error)

	// cost predicts the time of a call, in multiply-adds of T that take as long.
	cost func(c callSizes) float64

	// sweep returns some rows of outputs of attention that create has made in all sizes, and the
	// numbers of scored keys of each size and row. nil means that sizes are tried one after
	// another.
	sweep func(a performer.Attention[T], q, k, v dense.Matrix[T], rows []int) (outs []dense.Matrix[T], scored [][]int)
}

// callSizes has the sizes that determine the cost of a call. A causal call with fewer queries than
// keys computes some of the outputs of a call with as many queries as keys.
type callSizes struct {
	queries, keys int
	all           int // queries of a call with all of them
	dim, values   int // of queries and keys, and of values
	size          int // of the attention
	causal        bool
	scored        float64 // keys that a query scores on average; 0 means not known
}

func exactCost[T dense.Float](c callSizes) float64 {
	s := cost.Shape{Queries: c.queries, Keys: c.keys, Dim: c.dim, Values: c.values, Causal: c.causal, ElementSize: simd.Size[T]()}
	return s.Work(s.Exact())
}

func allKinds[T dense.Float]() []kind[T] {
	return []kind[T]{
		blockKind[T](),
		{name: "bits", sizes: []int{8}, create: func(s performer.Softmax, size int) (performer.Attention[T], error) {
			return performer.NewExact[T](performer.ExactOptions{Softmax: s, Bits: size})
		}, cost: bitCost[T]},
	}
}

// bitsCost is the cost of exact attention in 8 bits relative to exact attention. bitsCost was
// measured on processors that multiply bytes, and rounded up for other processors.
const bitsCost = 0.4

func bitCost[T dense.Float](c callSizes) float64 {
	share := bitsCost
	if c.causal {
		share += (1 - bitsCost) * min(tiles.Keys/float64(c.keys), 1)
	}
	return share*exactCost[T](c) + codeCost*float64(c.keys)
}

// codeCost is the measured cost of the codes of a key and its value, for any number of queries.
const codeCost = 1e4

func blockKind[T dense.Float]() kind[T] {
	const largest, smallest, step = 0.7, 0.002, 1.25
	var thresholds []float64
	var sizes []int
	for x := largest; x >= smallest; x /= step {
		sizes, thresholds = append(sizes, len(sizes)), append(thresholds, x)
	}
	return kind[T]{
		name: "blocks of keys", sizes: sizes,
		title: func(size int) string { return fmt.Sprintf("blocks of keys with threshold %.2g", thresholds[size]) },
		create: func(s performer.Softmax, size int) (performer.Attention[T], error) {
			return blocks.New[T](blocks.Options{Softmax: s, EightBits: true, Threshold: thresholds[size]})
		},
		sweep: func(a performer.Attention[T], q, k, v dense.Matrix[T], rows []int) ([]dense.Matrix[T], [][]int) {
			return a.(blocks.Attention[T]).ForwardThresholds(q, k, v, rows, thresholds)
		},
		cost: func(c callSizes) float64 { return blockCost[T](c, thresholds[c.size]) },
	}
}

// blockCost returns the cost of blocks of keys in 8 bits with a threshold. Unless c has the number
// of keys that a query reads, their share is that of heads of a trained transformer.
func blockCost[T dense.Float](c callSizes, threshold float64) float64 {
	const perKey, perQuery, choice = 1e4, 2.5e4, 0.025
	exact := c
	exact.size, exact.queries = 0, c.all
	pairs, all := exactCost[T](exact), float64(c.all)
	read := c.scored / float64(c.keys)
	if c.causal {
		read *= 2
	}
	if c.scored == 0 {
		read = 0.1 * math.Pow(threshold, -0.4)
	}
	queries := min(2*float64(c.queries), all) // a few queries of a block take the time of more
	return perKey*float64(c.keys) + choice*pairs + queries*(perQuery+bitsCost*min(read, 1)*pairs/all)
}
