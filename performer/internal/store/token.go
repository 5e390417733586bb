package store

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	features "github.com/seed-feabd252/randfeat/performer/internal/sums"
)

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

// mapKeys stores the (log-)features of the keys of a token, and its values followed by 1 if there
// are denominators.
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
