package audit

import (
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// TopK is the result of [ChooseTopK]: how many keys each head reads, and with which error.
type TopK[T dense.Float] struct {
	// Attention is the exact attention given to ChooseTopK, with the chosen TopK for each head.
	Attention performer.Batch[T]

	// Keys is the chosen TopK of each head of queries, or 0 for a head that reads all keys.
	Keys []int

	// Errors is, for each head of queries, the measured error ‖output − exact‖/‖exact‖ when queries
	// read only the chosen number of keys, or 0 for a head that reads all keys.
	Errors []float64
}

const (
	// topKQueries is the largest number of queries that ChooseTopK measures.
	topKQueries = 256

	// leastTopK is the least TopK that ChooseTopK tries, before twice as many each time.
	leastTopK = 32

	// wholeShare is the share of keys, 1 of so many, from which on reading some is not worth it.
	wholeShare = 3

	// errorsMore is the number of standard errors by which an error must be within a part of the
	// tolerance. The rest is for streams that grow: more keys then count by estimate.
	errorsMore      = 2
	partOfTolerance = 0.85
)

// ChooseTopK chooses, for each head of exact attention, the number TopK of keys that a query reads
// in a stream that begins with n given tokens, such as a prompt: q (n×H·d), k (n×Hk·d) and v
// (n×Hk·dv) in H heads of queries and Hk heads of keys.
//
// The chosen TopK is the least of 32, 64, 128 … for which the relative error of up to 256 queries
// of the last quarter of the tokens is below 0.85 times the tolerance by two standard errors.
// ChooseTopK measures errors by comparison with the outputs over all keys, with keys and values
// rounded if the argument exact has Bits. ChooseTopK does not guarantee the tolerance: rare queries
// that miss an important key may not be among the measured queries.
//
// A head that needs more than a third of its keys for the tolerance reads all keys, and so do all
// heads of queries that share its head of keys.
//
// The argument exact is a performer.Exact, or a performer.Batch of Exacts, and ChooseTopK ignores
// the TopK in ExactOptions of the argument. A head with a chosen TopK keeps its
// ExactOptions.Tolerance, with which a performer.State measures errors and adjusts the number of
// keys. For each TopK that ChooseTopK tries, a performer.State appends all tokens and computes the
// output of each measured query.
//
// ChooseTopK returns an error if exact is no performer.Exact and no performer.Batch of Exacts, for
// a tolerance that is not positive and finite, and for shapes that do not fit.
func ChooseTopK[T dense.Float](exact performer.Attention[T], q, k, v dense.Matrix[T], tolerance float64) (TopK[T], error) {
	var none TopK[T]
	b, err := exactBatch(exact)
	if err != nil {
		return none, err
	}
	if !(tolerance > 0) || math.IsInf(tolerance, 1) {
		return none, fmt.Errorf("audit: tolerance = %v, want a positive number", tolerance)
	}
	heads, keyHeads := headsOf(b)
	m := topKMeasure[T]{heads: heads, keyHeads: keyHeads, q: q, k: k, v: v}
	for h := range heads {
		m.options = append(m.options, exactOptions(b, h))
	}
	if q.Rows != k.Rows || k.Rows != v.Rows || k.Rows == 0 || q.Cols%heads != 0 || k.Cols*heads != q.Cols*keyHeads || v.Cols%keyHeads != 0 || v.Cols == 0 {
		return none, fmt.Errorf("audit: q is %d×%d, k is %d×%d, v is %d×%d, want as many rows, for %d heads of queries over %d of keys",
			q.Rows, q.Cols, k.Rows, k.Cols, v.Rows, v.Cols, heads, keyHeads)
	}
	return m.choose(tolerance)
}

type topKMeasure[T dense.Float] struct {
	options         []performer.ExactOptions // of each head
	heads, keyHeads int
	q, k, v         dense.Matrix[T]
}

func (m *topKMeasure[T]) choose(tolerance float64) (TopK[T], error) {
	c := TopK[T]{Keys: make([]int, m.heads), Errors: make([]float64, m.heads)}
	group := m.heads / m.keyHeads
	exact, err := m.outputs(c.Keys)
	if err != nil {
		return TopK[T]{}, err
	}
	open := m.heads
	for topK := leastTopK; topK*wholeShare <= m.first() && open > 0; topK *= 2 {
		got, err := m.outputs(slices.Repeat([]int{topK}, m.heads))
		if err != nil {
			return TopK[T]{}, err
		}
		for h := range c.Keys {
			if c.Keys[h] > 0 {
				continue
			}
			if e, within := streamError(got, exact, h, m.heads, tolerance); within {
				c.Keys[h], c.Errors[h] = topK, e
				open--
			}
		}
	}
	for h := 0; h < m.heads; h += group {
		if slices.Contains(c.Keys[h:h+group], 0) {
			clear(c.Keys[h : h+group])
			clear(c.Errors[h : h+group])
		}
	}
	c.Attention, err = m.attention(c.Keys)
	return c, err
}

func (m *topKMeasure[T]) first() int { return m.q.Rows - (m.q.Rows+3)/4 }

func (m *topKMeasure[T]) attention(topK []int) (performer.Batch[T], error) {
	all := make([]performer.Attention[T], m.heads)
	for h, o := range m.options {
		if o.TopK = topK[h]; o.TopK == 0 {
			o.Tolerance = 0
		}
		e, err := performer.NewExact[T](o)
		if err != nil {
			return performer.Batch[T]{}, fmt.Errorf("audit: %w", err)
		}
		all[h] = e
	}
	return performer.NewBatch(performer.BatchOptions{Heads: m.heads, KeyHeads: m.keyHeads}, all...)
}

// outputs returns the outputs of the measured queries, each over the tokens up to its own.
func (m *topKMeasure[T]) outputs(topK []int) (dense.Matrix[T], error) {
	b, err := m.attention(topK)
	if err != nil {
		return dense.Matrix[T]{}, err
	}
	s, err := b.NewState(m.q.Cols/m.heads, m.v.Cols/m.keyHeads)
	if err != nil {
		return dense.Matrix[T]{}, fmt.Errorf("audit: %w", err)
	}
	rows, from := m.q.Rows-m.first(), 0
	n := min(rows, topKQueries)
	out := dense.New[T](n, m.v.Cols/m.keyHeads*m.heads)
	for i := range n {
		at := m.first() + (i+1)*rows/n
		s.Append(m.k.RowRange(from, at), m.v.RowRange(from, at))
		s.Attend(out.RowRange(i, i+1), m.q.RowRange(at-1, at))
		from = at
	}
	return out, nil
}

// streamError returns the error of a head, and whether it is within the tolerance. The variance of
// the squared error over the squared norm is that of a ratio of means.
func streamError[T dense.Float](got, exact dense.Matrix[T], head, heads int, tolerance float64) (e float64, within bool) {
	width, n := exact.Cols/heads, exact.Rows
	squares, norms := make([]float64, n), make([]float64, n)
	var square, norm float64
	for i := range n {
		for l, want := range exact.Row(i)[head*width:][:width] {
			d := float64(got.Row(i)[head*width+l]) - float64(want)
			squares[i] += d * d
			norms[i] += float64(want) * float64(want)
		}
		square, norm = square+squares[i], norm+norms[i]
	}
	if square == 0 {
		return 0, true
	}
	ratio, variance := square/norm, 0.0
	for i := range n {
		d := (squares[i] - ratio*norms[i]) / norm
		variance += d * d
	}
	return math.Sqrt(ratio), ratio+errorsMore*math.Sqrt(variance) <= math.Pow(partOfTolerance*tolerance, 2)
}
