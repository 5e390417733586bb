package sums

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/rankone"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
)

// If features cost less than their logarithms, causal attention uses features first, token by token
// (see package rankone), up to the first key with a coordinate beyond ±mostCoordinate. From that
// token on it uses logarithms: sums of features are sums with references of 1. A query with such a
// coordinate has weights from its logarithms, with references of 1. A point with coordinates within
// ±mostCoordinate has features elu+1 between 2⁻⁴⁰ and 2⁵. So denominators are in range, and
// numerators for float32 values up to 2⁸⁰.
const mostCoordinate = 27.7

// leastNorm is the least norm, other than zero, of a float32 value for features without logarithms.
// Products of such a value with features of 2⁻⁴⁰ of a query and of a key are normal numbers.
const leastNorm = 0x1p-46

// RecentTokens is the number of tokens whose sums are added to the sums of all earlier tokens
// together. A sum over n tokens then has about 256 + n/256 rounding errors.
const RecentTokens = 256

// With more features than mostDirect products of matrices are as fast as sums by token.
const mostDirect = 128

type directCausal[T dense.Float] struct {
	dst, q, k, v dense.Matrix[T]
	e            *Engine[T]
	valid        []bool
	shares       []*directShare[T]
}

type directShare[T dense.Float] struct {
	from, to     int                    // of the columns of values
	queries      scratch.Buffer[T]      // ChunkRows×m
	keys         scratch.Buffer[T]      // ChunkRows×m
	values, out  []T                    // ChunkRows×(dv+1), [v_j, 1] and padding
	sums, older  []T                    // over the last and all earlier tokens, in panels (rankone)
	ones         []T                    // ChunkRows
	width        int                    // of all panels
	fresh, taken int                    // number of tokens in sums, and of all tokens so far
	unit         *logscale.Reference[T] // 1 for all features
	pass         rankone.Pass[T]
}

// directColumns divides the number of columns of values of a share.
const directColumns = 32

func (c *causal[T]) directOutputs() int {
	d := &c.direct
	d.e, d.dst, d.q, d.k, d.v, d.valid = c.e, c.dst, c.Q, c.K, c.V, c.keys
	blocks := (c.V.Cols + directColumns - 1) / directColumns
	n := max(1, min(parallel.Idle()+1, blocks))
	if overlaps(c.dst, c.Q) || overlaps(c.dst, c.K) || overlaps(c.dst, c.V) {
		n = 1
	}
	for len(d.shares) < n {
		d.shares = append(d.shares, new(directShare[T]))
	}
	all := d.shares
	d.shares = all[:n]
	for i, s := range d.shares {
		s.from = parallel.Share(blocks, n, i) * directColumns
		s.to = min(parallel.Share(blocks, n, i+1)*directColumns, c.V.Cols)
	}
	parallel.Do(n, d)
	taken := d.shares[0].taken
	if taken < c.Q.Rows {
		c.state.Shape(c.e.M, c.V.Cols+1)
		clear(c.state.Data)
		for _, s := range d.shares {
			s.copySums(c.state.Rows(c.e.M))
		}
	}
	*d = directCausal[T]{shares: all}
	return taken
}

// skip removes the first n tokens from the pass. Their sums are in state.
func (c *causal[T]) skip(n int) {
	rows := c.Q.Rows
	c.dst, c.Q, c.K, c.V = c.dst.RowRange(n, rows), c.Q.RowRange(n, rows), c.K.RowRange(n, rows), c.V.RowRange(n, rows)
	if c.keys != nil {
		c.keys = c.keys[n:]
	}
	c.resumes = n > 0
}

func (c *causal[T]) raiseDirect() {
	sums := c.state.Rows(c.e.M)
	for f := range sums.Rows {
		if sums.Row(f)[c.V.Cols] > 0 {
			c.ref.Set(f, 0)
		}
	}
}

// overlaps reports whether two matrices begin with the same element.
func overlaps[T dense.Float](x, y dense.Matrix[T]) bool {
	return len(x.Data) > 0 && len(y.Data) > 0 && &x.Data[0] == &y.Data[0]
}

func (d *directCausal[T]) Piece(i int) {
	s := d.shares[i]
	s.prepare(d.e.M)
	for lo := 0; lo < d.q.Rows; lo += ChunkRows {
		hi := min(lo+ChunkRows, d.q.Rows)
		end := d.firstUnfit(lo, hi)
		s.outputs(d, lo, end)
		if end < hi {
			break
		}
	}
	s.fold()
	s.pass = rankone.Pass[T]{}
}

// firstUnfit returns the first of the tokens lo ≤ i < hi that counts and whose key or value needs
// logarithms, or hi.
func (d *directCausal[T]) firstUnfit(lo, hi int) int {
	for i := lo; i < hi; i++ {
		if (d.valid == nil || d.valid[i]) && !(coordinatesFit(d.k.Row(i)) && normFits(d.v.Row(i))) {
			return i
		}
	}
	return hi
}

// coordinatesFit reports whether no coordinate of x is beyond ±mostCoordinate, or NaN.
func coordinatesFit[T dense.Float](x []T) bool {
	if vecmath.HalfSquaredNorm(x) <= mostCoordinate*mostCoordinate/2 {
		return true
	}
	for _, t := range x {
		if !(-mostCoordinate <= t && t <= mostCoordinate) {
			return false
		}
	}
	return true
}

func normFits[T dense.Float](v []T) bool {
	half := vecmath.HalfSquaredNorm(v)
	return half == 0 || !(half < leastNorm*leastNorm/2) || logscale.Roundoff[T]() < 0x1p-24
}

func (s *directShare[T]) prepare(m int) {
	s.queries.Shape(ChunkRows, m)
	s.keys.Shape(ChunkRows, m)
	s.width = 0
	for s.width <= s.to-s.from {
		s.width += s.panelWidth(m, s.width)
	}
	s.values, s.out = scratch.Resize(s.values, ChunkRows*s.width), scratch.Resize(s.out, ChunkRows*s.width)
	clear(s.values)
	s.sums, s.older = scratch.Resize(s.sums, m*s.width), scratch.Resize(s.older, m*s.width)
	clear(s.sums)
	clear(s.older)
	s.ones = scratch.Resize(s.ones, ChunkRows)
	layout.Fill(s.ones, 1)
	s.fresh, s.taken = 0, 0
}

func (s *directShare[T]) panelWidth(m, from int) int {
	left := s.to - s.from + 1 - from
	if left > directColumns {
		left -= left % directColumns // avoids a wide panel for the column of ones
	}
	return rankone.Columns[T](m, left, false)
}

func (s *directShare[T]) outputs(d *directCausal[T], lo, hi int) {
	n, m := hi-lo, d.e.M
	if n == 0 {
		return
	}
	q, k, v, dst := d.q.RowRange(lo, hi), d.k.RowRange(lo, hi), d.v.ColRange(s.from, s.to), d.dst.ColRange(s.from, s.to)
	prefetchAfter(d.q, hi, d.q.Rows, ChunkRows)
	prefetchAfter(d.k, hi, d.q.Rows, ChunkRows)
	prefetchAfter(v, hi, d.q.Rows, ChunkRows)
	prefetchAfter(dst, lo, d.q.Rows, ChunkRows)
	queries, keys := s.queries.Rows(n), s.keys.Rows(n)
	d.e.Direct.DirectQueries(queries, q)
	s.amend(d.e, queries, q)
	d.e.Direct.DirectKeys(keys, k)
	values, out := dense.Of(n, s.width, s.values[:n*s.width]), dense.Of(n, s.width, s.out[:n*s.width])
	Extend(values.ColRange(0, v.Cols+1), v.RowRange(lo, hi))
	if d.valid != nil {
		for i, counts := range d.valid[lo:hi] {
			if !counts {
				clear(keys.Row(i))
				clear(values.Row(i))
			}
		}
	}
	p := &s.pass
	*p = rankone.Pass[T]{Rows: m, K: keys, Q: queries, Beta: s.ones, Scale: s.ones, Heads: 1}
	for from := 0; from < s.width; from += p.Width {
		p.Width = s.panelWidth(m, from)
		p.S, p.Older = s.sums[from*m:][:p.Width*m], s.older[from*m:][:p.Width*m]
		p.V, p.Out = values.ColRange(from, from+p.Width), out.ColRange(from, from+p.Width)
		p.Take()
	}
	d.e.Finish(dst.RowRange(lo, hi), out, nil)
	s.taken = hi
	if s.fresh += n; s.fresh >= RecentTokens {
		s.fold()
	}
}

func (s *directShare[T]) amend(e *Engine[T], features, q dense.Matrix[T]) {
	for i := range q.Rows {
		if coordinatesFit(q.Row(i)) {
			continue
		}
		if s.unit == nil {
			s.unit = logscale.NewReference[T](e.M)
			s.unit.SetAll(0)
		}
		weights := features.RowRange(i, i+1)
		e.Features.Queries(weights, q.RowRange(i, i+1))
		s.unit.ScaleQueries(weights, nil)
	}
}

func (s *directShare[T]) fold() {
	vecmath.AddScaled(s.older, s.sums, 1)
	clear(s.sums)
	s.fresh = 0
}

func (s *directShare[T]) copySums(dst dense.Matrix[T]) {
	n := s.to - s.from
	for from := 0; from <= n; {
		width := s.panelWidth(dst.Rows, from)
		for f := range dst.Rows {
			row := s.older[from*dst.Rows+f*width:][:width]
			copy(dst.Row(f)[s.from+from:s.to], row)
			if n < from+width {
				dst.Row(f)[dst.Cols-1] = row[n-from]
			}
		}
		from += width
	}
}
