package blocks

import (
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/performer/internal/coded"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

func (a *attention[T]) CanBackward() error { return nil }

func (a *attention[T]) Backward(c sequence.Call[T]) {
	for h := range c.DQ.Heads {
		layout.Zero(dense.Head(c.DQ, 0, h))
	}
	layout.Zero(c.DK)
	layout.Zero(c.DV)
	seen := a.seen(c)
	if seen.Q.Rows == 0 {
		return
	}
	blind := c.Q.Rows - seen.Q.Rows
	first := c.Past + blind - seen.Past
	dk, dv := c.DK.RowRange(first, first+seen.K.Rows), c.DV.RowRange(first, first+seen.K.Rows)
	for h := range c.Q.Heads {
		x := a.attention(seen, h)
		dq, dout := dense.Head(c.DQ, 0, h).RowRange(blind, c.Q.Rows), dense.Head(c.DOut, 0, h).RowRange(blind, c.Q.Rows)
		to := 0
		for _, read := range coded.ChosenBlocks(x, a.Threshold, a.EightBits) {
			from := to
			to = min(from+coded.BlockQueries-x.Mask.Place(from)%coded.BlockQueries, x.Q.Rows)
			backward(x, from, to, read, dout, dq, dk, dv)
		}
	}
}

// backward writes the gradients of the queries from ≤ i < to, which read some blocks of keys, and
// adds their gradients of keys and values.
func backward[T dense.Float](x tiles.Head[T], from, to int, read []int32, dout, dq, dk, dv dense.Matrix[T]) {
	var rows, keys, places []int
	for i := from; i < to; i++ {
		if !layout.IsZero(dout.Row(i)) {
			rows = append(rows, i)
		}
	}
	if len(rows) == 0 {
		return
	}
	q := layout.Rows(x.Q, rows)
	finite := layout.Finite(q) // otherwise outputs are exact
	end := x.K.Rows
	if x.Mask.Causal {
		end = min(end, x.Mask.Place(rows[len(rows)-1])+1)
	}
	for j := range end {
		if x.Mask.Valid != nil && !x.Mask.Valid[j] {
			continue
		}
		if _, ok := slices.BinarySearch(read, int32(j/coded.BlockKeys)); ok || !finite {
			keys = append(keys, j)
		}
	}
	for _, i := range rows {
		seen, _ := slices.BinarySearch(keys, x.Mask.Place(i)+1)
		places = append(places, seen-1)
	}
	g := tiles.HeadGradients[T]{
		Q: q, K: layout.Rows(x.K, keys), V: layout.Rows(x.V, keys), DOut: layout.Rows(dout, rows),
		DQ: dense.New[T](len(rows), q.Cols), DK: dense.New[T](len(keys), q.Cols), DV: dense.New[T](len(keys), dv.Cols),
		Scores: x.Scores, Mask: tiles.Mask[T]{Causal: x.Mask.Causal, Places: places},
	}
	tiles.Backward(g)
	for l, i := range rows {
		copy(dq.Row(i), g.DQ.Row(l))
	}
	for l, j := range keys {
		vecmath.AddScaled(dk.Row(j), g.DK.Row(l), 1)
		vecmath.AddScaled(dv.Row(j), g.DV.Row(l), 1)
	}
}
