package semiseparable

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cache"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

type sizes struct {
	chunk  int // rows of a chunk
	window int // chunks of a window, whose triangles are in memory at a time
}

// A row of a chunk of c rows costs 2dp multiply-adds and about c·(d + p/2) for the triangle, and a
// chunk reads and writes Z once. The rows of Q and K of a window take a quarter of the second
// cache. The chunk does not depend on caches, because the order of sums depends on it.
func (m Matrix[T]) tuned() sizes {
	const chunk, most = 48, 8
	var v T
	row := 2 * m.Q.Cols * int(unsafe.Sizeof(v))
	return sizes{chunk: chunk, window: min(max(cache.L2/4/(chunk*max(row, 1)), 2), most)}
}

// solvePass computes T⁻¹·V, or T⁻ᵀ·V if transposed is set. A goroutine computes a share of the
// groups of columns for all chunks of a window, while other goroutines compute the triangles of the
// next window.
type solvePass[T dense.Float] struct {
	Matrix[T]
	sizes
	transposed  bool
	left, right dense.Matrix[T] // Q and K, exchanged for Tᵀ: Z is Σ rightᵀ·Y over the chunks before
	dst, v      dense.Matrix[T]
	aliased     bool // dst is v

	steps int
	phase int
	// the number of shares in this phase: shares, or 0 before the first window
	running   int
	triangles []triangle[T] // the triangles of two windows
	groups    []columnGroup[T]
	shares    int // the number of parts of groups that goroutines compute in parallel

	mu    sync.Mutex
	fault *ElementError // the first row of v that is not finite, if v is overwritten
}

// columnGroup is one panel of package matmul, so that products do not copy their operands.
type columnGroup[T dense.Float] struct {
	from, to int
	data     []T
	z        dense.Matrix[T] // d rows
	y        dense.Matrix[T] // the rows of a chunk, first of V and then of the solution
}

func (m Matrix[T]) solve(dst, v dense.Matrix[T], transposed bool, size sizes) (dense.Matrix[T], error) {
	n, d := m.Dims()
	v.Check()
	if v.Rows != n {
		panic(fmt.Sprintf("semiseparable: v is %d×%d, q is %d×%d, want as many rows", v.Rows, v.Cols, n, d))
	}
	dst = dense.Ensure(dst, n, v.Cols)
	if err := checkPivots(m.Diag); err != nil {
		return dst, err
	}
	if n == 0 || v.Cols == 0 {
		return dst, nil
	}
	s := pool.Get[solvePass[T]](&passes)
	s.start(m, dst, v, transposed, size)
	s.all()
	err := s.check()
	s.forget()
	pool.Put(&passes, s)
	return dst, err
}

func (s *solvePass[T]) start(m Matrix[T], dst, v dense.Matrix[T], transposed bool, size sizes) {
	n, d := m.Dims()
	s.Matrix, s.transposed, s.sizes = m, transposed, size
	s.chunk = min(s.chunk, n)
	s.left, s.right = m.Q, m.K
	if transposed {
		s.left, s.right = m.K, m.Q
	}
	s.dst, s.v = dst, v
	s.aliased = &dst.Data[0] == &v.Data[0]
	s.steps = (n + s.chunk - 1) / s.chunk
	s.window = min(s.window, s.steps)
	s.triangles = extend(s.triangles, min(2*s.window, s.steps))
	width := matmul.PanelWidth[T](v.Cols)
	count := (v.Cols + width - 1) / width
	s.groups = extend(s.groups, count)
	const most = 64
	s.shares = min((v.Cols+most-1)/most, count)
	for i := range s.groups {
		s.groups[i].start(i*width, min((i+1)*width, v.Cols), d, s.chunk)
	}
}

func (g *columnGroup[T]) start(from, to, d, chunk int) {
	g.from, g.to = from, to
	cols, rows := matmul.PanelWidth[T](to-from), d+chunk
	g.data = cache.Aligned(g.data, rows*cols)
	clear(g.data)
	all := dense.Of(rows, cols, g.data)
	g.z, g.y = all.RowRange(0, d), all.RowRange(d, rows)
}

func (s *solvePass[T]) forget() {
	s.Matrix = Matrix[T]{}
	s.left, s.right, s.dst, s.v = s.Q, s.Q, s.Q, s.Q
	s.fault = nil
}

func (s *solvePass[T]) all() {
	for s.phase = -1; s.phase*s.window < s.steps; s.phase++ {
		s.running = s.shares
		if s.phase < 0 {
			s.running = 0
		}
		ahead := (s.phase + 1) * s.window
		parallel.Do(s.running+max(0, min(s.window, s.steps-ahead)), s)
	}
}

// Piece is task i: the small tasks are in the middle, because goroutines begin at both ends.
func (s *solvePass[T]) Piece(i int) {
	first := s.phase * s.window
	ahead := min(s.window, s.steps-first-s.window)
	switch half := (s.running + 1) / 2; {
	case i < half:
		s.advance(i, first)
	case i < half+ahead:
		s.prepare(first + s.window + i - half)
	default:
		s.advance(i-max(ahead, 0), first)
	}
}

func (s *solvePass[T]) advance(share, first int) {
	groups := s.groups[parallel.Share(len(s.groups), s.shares, share):parallel.Share(len(s.groups), s.shares, share+1)]
	for step := first; step < min(first+s.window, s.steps); step++ {
		lo, hi := s.rows(step)
		nextLo, nextHi := s.rows(min(step+1, s.steps-1))
		c := chunk[T]{t: s.triangle(step), left: s.left.RowRange(lo, hi), right: s.right.RowRange(lo, hi)}
		for i := range groups {
			g := &groups[i]
			// Memory delivers the next rows during the computation of this group.
			if i+1 < len(groups) {
				matmul.Prefetch(groups[i+1].of(&s.v, lo, hi))
			} else {
				matmul.Prefetch(groups[0].of(&s.v, nextLo, nextHi))
			}
			result := g.of(&s.dst, lo, hi)
			matmul.Prefetch(result)
			c.y = g.y
			c.y.Rows = hi - lo
			dense.Copy(c.y.ColRange(0, result.Cols), g.of(&s.v, lo, hi))
			c.solve(g.z)
			dense.Copy(result, c.y.ColRange(0, result.Cols))
		}
	}
}

func (g *columnGroup[T]) of(x *dense.Matrix[T], lo, hi int) dense.Matrix[T] {
	return dense.Matrix[T]{Rows: hi - lo, Cols: g.to - g.from, Data: x.Data[lo*x.Stride+g.from:], Stride: x.Stride}
}

func (s *solvePass[T]) triangle(step int) *triangle[T] { return &s.triangles[step%len(s.triangles)] }

// Steps are chunks, from the first chunk to the last, and for Tᵀ from the last to the first.
func (s *solvePass[T]) rows(step int) (lo, hi int) {
	if s.transposed {
		step = s.steps - 1 - step
	}
	return step * s.chunk, min((step+1)*s.chunk, s.v.Rows)
}

func (s *solvePass[T]) prepare(step int) {
	lo, hi := s.rows(step)
	touch(s.Q.RowRange(lo, hi))
	touch(s.K.RowRange(lo, hi))
	s.triangle(step).set(&s.Matrix, lo, hi, s.transposed)
	if s.aliased {
		s.inspect(lo, hi)
	}
}

func (s *solvePass[T]) inspect(lo, hi int) {
	for i := lo; i < hi; i++ {
		row := s.v.Row(i)
		if finite(row) {
			continue
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.fault == nil || i < s.fault.Row {
			s.fault = &ElementError{Argument: "v", Row: i, Value: firstInfinite(row)}
		}
		return
	}
}

type chunk[T dense.Float] struct {
	t              *triangle[T]
	left, right, y dense.Matrix[T]
}

// solve replaces V_C by Y_C = T_CC⁻¹·(V_C − left_C·Z) and adds right_CᵀY_C to Z.
func (c *chunk[T]) solve(z dense.Matrix[T]) {
	matmul.MulInPlace(-1, c.left, z, 1, c.y)
	c.t.factor.Solve(c.y)
	matmul.TMulInPlace(1, c.right, c.y, 1, z)
}
