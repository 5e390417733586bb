package store

import (
	"errors"
	"fmt"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
	features "github.com/seed-feabd252/randfeat/performer/internal/sums"
)

// linearSums holds the sums of linear attention over all tokens: no token is open. In float32
// single tokens have sums of their own, which settle adds to the sums of all earlier tokens after
// features.RecentTokens of them, or before a call that needs one sum.
type linearSums[T dense.Float] struct {
	engine *features.Engine[T]
	heads  int // of queries
	dv     int
	all    []*features.Accumulator[T] // of each head of keys
	recent []scratch.Buffer[T]        // m×(dv+1) sums of single tokens; nil in float64
	count  int                        // of single tokens

	// Memory of one token, with a row for each head.
	queries, keys, values, out scratch.Buffer[T]

	// During a call. A piece is a head of keys.
	dst, q, k, v dense.Matrix[T]
	answering    bool
}

type saved[T dense.Float] struct {
	all    []features.Accumulator[T]
	recent [][]T
	count  int
}

func newSumsStore[T dense.Float](o Sums[T]) (*Store[T], error) {
	e, heads, keyHeads, dv := o.Engine, o.Heads, o.KeyHeads, o.DV
	width := dv + 1
	err := limit.Memory[T](keyHeads, e.M, scratch.Stride[T](width))
	if err == nil {
		err = limit.Memory[T](heads, max(scratch.Stride[T](e.M), scratch.Stride[T](width)))
	}
	if err != nil {
		return nil, fmt.Errorf("performer: dv = %d, for %d heads of %d features: %w", dv, keyHeads, e.M, err)
	}
	return newStore(newSums(e, heads, keyHeads, dv), Exact{Heads: heads, KeyHeads: keyHeads, D: e.D, DV: dv}, 1, 0), nil
}

func newSums[T dense.Float](e *features.Engine[T], heads, keyHeads, dv int) *linearSums[T] {
	c, width := &linearSums[T]{engine: e, heads: heads, dv: dv}, dv+1
	for range keyHeads {
		c.all = append(c.all, e.Accumulator(dv))
	}
	if simd.Size[T]() == 4 {
		c.recent = make([]scratch.Buffer[T], keyHeads)
		for h := range c.recent {
			c.recent[h].Shape(e.M, width)
		}
	}
	c.queries.Shape(heads, e.M)
	c.keys.Shape(keyHeads, e.M)
	c.values.Shape(keyHeads, width)
	c.out.Shape(heads, width)
	return c
}

func (c *linearSums[T]) group() int { return c.heads / len(c.all) }

func (c *linearSums[T]) append(k, v dense.Matrix[T]) {
	if k.Rows == 1 {
		c.add(k, v)
		return
	}
	c.settle()
	c.k, c.v, c.answering = k, v, false
	parallel.Do(len(c.all), c)
	c.k, c.v = dense.Matrix[T]{}, dense.Matrix[T]{}
}

const fewQueries = 4

func (c *linearSums[T]) attend(_ *Store[T], dst, q dense.Matrix[T], _ bool) {
	if q.Rows < fewQueries {
		c.attendTokens(dst, q)
		return
	}
	c.settle()
	c.dst, c.q, c.answering = dst, q, true
	parallel.Do(len(c.all), c)
	c.dst, c.q = dense.Matrix[T]{}, dense.Matrix[T]{}
}

func (c *linearSums[T]) Piece(h int) {
	acc, n := c.all[h], len(c.all)
	if c.answering {
		c.engine.Outputs(c.group(), layout.Head(c.dst, h, n), layout.Head(c.q, h, n), acc, c.dv)
	} else {
		c.engine.Append(acc, layout.Head(c.k, h, n), layout.Head(c.v, h, n))
	}
}

func (c *linearSums[T]) merge(s *Store[T], other content[T], closed int) {
	o := other.(*linearSums[T])
	c.settle()
	s.closed += closed
	for h, acc := range c.all {
		acc.Merge(o.all[h], 0, c.engine.M)
		if o.count > 0 && o.recent != nil {
			acc.MergeSums(o.all[h].Ref, o.recent[h].Rows(c.engine.M))
		}
	}
}

func (c *linearSums[T]) clone(int) content[T] {
	to, all := newSums(c.engine, c.heads, len(c.all), c.dv), new(Saved[T])
	c.save(nil, all)
	to.restore(nil, all, 0, 0)
	return to
}

func (c *linearSums[T]) save(_ *Store[T], to *Saved[T]) {
	if len(to.sums) == 0 {
		to.sums = make([]saved[T], 1)
	}
	x := &to.sums[0]
	x.all, x.recent, x.count = scratch.Resize(x.all, len(c.all)), scratch.Resize(x.recent, len(c.recent)), c.count
	for h, acc := range c.all {
		x.all[h].Copy(acc)
	}
	for h := range c.recent {
		x.recent[h] = append(x.recent[h][:0], c.recent[h].Data...)
	}
}

func (c *linearSums[T]) restore(_ *Store[T], from *Saved[T], _, _ int) {
	if from == nil {
		c.settle()
		for _, acc := range c.all {
			acc.Reset()
		}
		return
	}
	x := &from.sums[0]
	for h, acc := range c.all {
		acc.Copy(&x.all[h])
	}
	for h := range c.recent {
		copy(c.recent[h].Data, x.recent[h])
	}
	c.count = x.count
}

func (c *linearSums[T]) parameters(*Store[T]) []parameter {
	return []parameter{{"m", c.engine.M}, {"logarithms", c.engine.Logs}, normalised}
}

func (c *linearSums[T]) marks() []float64 { return c.engine.Marks() }

func (c *linearSums[T]) checkMarks(marks []float64) error { return c.engine.CheckMarks(marks) }

func (c *linearSums[T]) counts() (n counts) {
	add[T](&n, len(c.all)*c.engine.M*c.all[0].Sums().Cols)
	if c.engine.Logs {
		add[uint64](&n, len(c.all)*c.engine.M)
	}
	return n
}

func (c *linearSums[T]) encode(to *Recipe, _ runs) {
	c.settle()
	for _, acc := range c.all {
		if acc.Ref != nil {
			for _, n := range acc.Ref.Exponents() {
				to.Words = append(to.Words, uint64(n))
			}
		}
		all := acc.Sums()
		for f := range all.Rows {
			to.put(all.Row(f))
		}
	}
}

func (c *linearSums[T]) decode(from *Recipe, _ runs) {
	for _, acc := range c.all {
		all := acc.Sums()
		for f := range all.Rows {
			if acc.Ref != nil {
				acc.Ref.Set(f, int64(from.Words[f]))
			}
			from.take(all.Row(f))
		}
		if acc.Ref != nil {
			from.Words = from.Words[all.Rows:]
		}
	}
}

// inspect returns an error for an exponent of no finite T, and for finite sums other than zero of a
// feature without a reference.
func (c *linearSums[T]) inspect(from Recipe) error {
	row := make([]T, c.all[0].Sums().Cols)
	for _, word := range from.Words {
		n := int64(word)
		from.take(row)
		if !logscale.IsExponent[T](n) {
			return fmt.Errorf("performer: state with exponent %d, want that of a finite %T", n, T(0))
		}
		if n == logscale.None && slices.ContainsFunc(row, func(x T) bool { return x != 0 && x-x == 0 }) {
			return errors.New("performer: state with sums of a feature that no key has had")
		}
	}
	return nil
}

// The features of a token are computed for all heads at once, so that the frequencies are read
// once. Then each head multiplies a matrix by a vector, whose time is the time to read S.

func (c *linearSums[T]) add(k, v dense.Matrix[T]) {
	c.mapKeys(k, v)
	for h := range c.all {
		latest, value := c.latest(h), c.values.Rows(h+1).Row(h)
		for f, x := range c.scaledKey(h) {
			vecmath.AddScaled(latest.Row(f), value, x)
		}
	}
	c.countToken()
}

func (c *linearSums[T]) attendTokens(dst, q dense.Matrix[T]) {
	for i := range q.Rows {
		c.mapQueries(q.RowRange(i, i+1))
		for h := range c.heads {
			c.attendHead(h)
		}
		c.finish(dst.RowRange(i, i+1))
	}
}

// step adds a token and computes its output. For the first query of a head of keys, one pass adds
// the key to the latest sums and multiplies the query by them.
func (c *linearSums[T]) step(dst, q, k, v dense.Matrix[T]) {
	c.mapKeys(k, v)
	c.mapQueries(q)
	group := c.group()
	for h := range c.all {
		first := h * group
		key, query := c.scaledKey(h), c.scaledQuery(first)
		out, latest := c.output(first), c.latest(h)
		c.addSettled(h, out, query)
		vecmath.Outer(latest.Data, latest.Stride, key, query, c.values.Rows(h+1).Row(h), out)
		for other := first + 1; other < first+group; other++ {
			c.attendHead(other)
		}
	}
	c.finish(dst)
	c.countToken()
}

func (c *linearSums[T]) attendHead(h int) {
	of := h / c.group()
	query, out, latest := c.scaledQuery(h), c.output(h), c.latest(of)
	c.addSettled(of, out, query)
	vecmath.SumRows(latest.Data, latest.Stride, query, out)
}

// latest returns the sums of head h to which single tokens are added.
func (c *linearSums[T]) latest(h int) dense.Matrix[T] {
	if c.recent != nil {
		return c.recent[h].Rows(c.engine.M)
	}
	return c.all[h].Sums()
}

func (c *linearSums[T]) addSettled(h int, out, query []T) {
	if c.recent != nil {
		settled := c.all[h].Sums()
		vecmath.SumRows(settled.Data, settled.Stride, query, out)
	}
}

func (c *linearSums[T]) countToken() {
	if c.count++; c.count == features.RecentTokens {
		c.settle()
	}
}

func (c *linearSums[T]) settle() {
	for h := range c.recent {
		if c.count > 0 {
			features.AddRows(c.all[h].Sums(), c.recent[h].Rows(c.engine.M), 0, c.engine.M)
			clear(c.recent[h].Data)
		}
	}
	c.count = 0
}

// mapKeys stores the (log-)features of the keys of a token, and its values followed by 1.
func (c *linearSums[T]) mapKeys(k, v dense.Matrix[T]) {
	n := len(c.all)
	c.engine.Features.Keys(c.keys.Rows(n), headRows(k, n))
	features.Extend(c.values.Rows(n), headRows(v, n))
}

func (c *linearSums[T]) mapQueries(q dense.Matrix[T]) {
	c.engine.Features.Queries(c.queries.Rows(c.heads), headRows(q, c.heads))
}

func headRows[T dense.Float](x dense.Matrix[T], heads int) dense.Matrix[T] {
	return dense.Of(heads, x.Cols/heads, x.Row(0))
}

// scaledKey raises the reference of head h to its key, and returns the features of the key relative
// to the reference.
func (c *linearSums[T]) scaledKey(h int) []T {
	acc, key := c.all[h], c.keys.Rows(h+1).Row(h)
	if acc.Ref != nil {
		acc.Raise(key)
		if c.recent != nil {
			acc.RescaleLike(c.recent[h].Rows(c.engine.M))
		}
		acc.Ref.ScaleKey(key)
	}
	return key
}

func (c *linearSums[T]) scaledQuery(h int) []T {
	query := c.queries.Rows(h+1).RowRange(h, h+1)
	c.all[h/c.group()].ScaleQueries(query, nil)
	return query.Row(0)
}

func (c *linearSums[T]) output(h int) []T {
	out := c.out.Rows(h + 1).Row(h)
	clear(out)
	return out
}

func (c *linearSums[T]) finish(dst dense.Matrix[T]) {
	c.engine.Finish(headRows(dst, c.heads), c.out.Rows(c.heads), nil)
}
