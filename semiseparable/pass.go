package semiseparable

import (
	"sync"
	"unsafe"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/cache"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// operation is the product or the solution that a pass computes.
type operation struct {
	solving    bool // T⁻¹·X instead of T·X
	transposed bool // with Tᵀ in place of T
}

// sizes are the sizes of chunks and windows of a pass.
type sizes struct {
	chunk  int // rows of a chunk
	window int // chunks of a window, whose triangles are in memory at a time
}

// tuned returns the fastest sizes. In a chunk of c rows, a row costs 2dp multiply-adds and about
// c·(d + p/2) for the triangle, and a chunk reads and writes Z once.
//
// The rows of Q and K of a window take a quarter of the second cache. The chunk does not depend on
// caches, because the order of sums depends on the chunk. It does not depend on the window.
func (m Matrix[T]) tuned() sizes {
	const chunk, most = 48, 8
	var v T
	row := 2 * m.Q.Cols * int(unsafe.Sizeof(v))
	return sizes{chunk: chunk, window: min(max(cache.L2/4/(chunk*max(row, 1)), 2), most)}
}

// pass computes T·X or T⁻¹·X, or the same with Tᵀ, chunk by chunk.
//
// The columns are independent of each other, and are cut into groups. A goroutine computes a share
// of the groups for all chunks of a window, while other goroutines compute the triangles of the
// next window.
type pass[T dense.Float] struct {
	Matrix[T]
	operation
	sizes
	left, right dense.Matrix[T] // Q and K, exchanged for Tᵀ: Z is Σ rightᵀ·Y over the chunks before
	dst, x      dense.Matrix[T]
	aliased     bool // dst is x

	steps     int
	phase     int           // the window that groups compute; triangles are prepared one window ahead
	running   int           // the number of shares in this phase: shares, or 0 before the first window
	triangles []triangle[T] // the triangles of two windows
	groups    []group[T]
	shares    int // the number of parts of groups that goroutines compute in parallel

	mu    sync.Mutex
	fault *ElementError // the first row of x that is not finite, if x is overwritten
}

// group is the columns from ≤ j < to of the result, the width of one panel of package matmul. All
// matrices of a group are panels, so that products do not copy their operands.
type group[T dense.Float] struct {
	from, to int
	data     []T
	z        dense.Matrix[T] // d rows
	x, y     dense.Matrix[T] // the rows of a chunk; x and y are the same memory for solutions
}

// run computes T⁻¹·X or T·X into dst. name is the name of x in errors.
func (m Matrix[T]) run(dst, x dense.Matrix[T], name string, op operation, size sizes) (dense.Matrix[T], error) {
	n, d := m.Dims()
	checkOperand(name, x, n, d)
	dst = dense.Ensure(dst, n, x.Cols)
	if op.solving {
		if err := checkPivots(m.Diag); err != nil {
			return dst, err
		}
	}
	if n == 0 || x.Cols == 0 {
		return dst, nil
	}
	s := pool.Get[pass[T]](&passes)
	s.start(m, dst, x, op, size)
	s.all()
	err := s.check(name)
	s.forget()
	pool.Put(&passes, s)
	return dst, err
}

func (s *pass[T]) start(m Matrix[T], dst, x dense.Matrix[T], op operation, size sizes) {
	n, d := m.Dims()
	s.Matrix, s.operation, s.sizes = m, op, size
	s.chunk = min(s.chunk, n)
	s.left, s.right = m.Q, m.K
	if op.transposed {
		s.left, s.right = m.K, m.Q
	}
	s.dst, s.x = dst, x
	s.aliased = &dst.Data[0] == &x.Data[0]
	s.steps = (n + s.chunk - 1) / s.chunk
	s.window = min(s.window, s.steps)
	s.triangles = extend(s.triangles, min(2*s.window, s.steps))
	width := matmul.PanelWidth[T](x.Cols)
	count := (x.Cols + width - 1) / width
	s.groups = extend(s.groups, count)
	// Two processors share up to 128 columns.
	const most = 64
	s.shares = min((x.Cols+most-1)/most, count)
	for i := range s.groups {
		s.groups[i].start(i*width, min((i+1)*width, x.Cols), d, s.chunk, s.solving)
	}
}

func (g *group[T]) start(from, to, d, chunk int, solving bool) {
	g.from, g.to = from, to
	cols, rows := matmul.PanelWidth[T](to-from), d+chunk
	if !solving {
		rows += chunk
	}
	g.data = cache.Aligned(g.data, rows*cols)
	clear(g.data)
	all := dense.Of(rows, cols, g.data)
	g.z, g.x, g.y = all.RowRange(0, d), all.RowRange(d, d+chunk), all.RowRange(rows-chunk, rows)
}

// forget drops the references to memory of the caller.
func (s *pass[T]) forget() {
	s.Matrix = Matrix[T]{}
	s.left, s.right, s.dst, s.x = s.Q, s.Q, s.Q, s.Q
	s.fault = nil
}

// all computes all windows.
func (s *pass[T]) all() {
	for s.phase = -1; s.phase*s.window < s.steps; s.phase++ {
		s.running = s.shares
		if s.phase < 0 {
			s.running = 0
		}
		ahead := (s.phase + 1) * s.window
		parallel.Do(s.running+max(0, min(s.window, s.steps-ahead)), s)
	}
}

// Piece advances a share through the window, or prepares a chunk of the next window. Half of the
// shares are the first tasks and half are the last. Goroutines start at both ends of the tasks, so
// that small tasks are left for the end.
func (s *pass[T]) Piece(i int) {
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

// advance computes a share of the groups for the window that begins at step first.
func (s *pass[T]) advance(share, first int) {
	groups := s.groups[parallel.Share(len(s.groups), s.shares, share):parallel.Share(len(s.groups), s.shares, share+1)]
	for step := first; step < min(first+s.window, s.steps); step++ {
		lo, hi := s.rows(step)
		nextLo, nextHi := s.rows(min(step+1, s.steps-1))
		c := chunk[T]{t: s.triangle(step), left: s.left.RowRange(lo, hi), right: s.right.RowRange(lo, hi)}
		for i := range groups {
			g := &groups[i]
			// Memory delivers the next rows during the computation of this group.
			if i+1 < len(groups) {
				matmul.Prefetch(groups[i+1].of(&s.x, lo, hi))
			} else {
				matmul.Prefetch(groups[0].of(&s.x, nextLo, nextHi))
			}
			result := g.of(&s.dst, lo, hi)
			matmul.Prefetch(result)
			c.x, c.y = g.x, g.y
			c.x.Rows, c.y.Rows = hi-lo, hi-lo
			matmul.PackPanel(c.x, g.of(&s.x, lo, hi))
			if s.solving {
				s.solve(&c, g.z)
			} else {
				s.mul(&c, g.z)
			}
			matmul.UnpackPanel(result, c.y)
		}
	}
}

// of returns rows lo ≤ i < hi of the columns of x in g.
func (g *group[T]) of(x *dense.Matrix[T], lo, hi int) dense.Matrix[T] {
	return dense.Matrix[T]{Rows: hi - lo, Cols: g.to - g.from, Data: x.Data[lo*x.Stride+g.from:], Stride: x.Stride}
}

// triangle returns the triangle of a step.
func (s *pass[T]) triangle(step int) *triangle[T] { return &s.triangles[step%len(s.triangles)] }

// rows returns the rows lo ≤ i < hi of a step. Steps go from the first chunk to the last, and for
// Tᵀ from the last chunk to the first.
func (s *pass[T]) rows(step int) (lo, hi int) {
	if s.transposed {
		step = s.steps - 1 - step
	}
	return step * s.chunk, min((step+1)*s.chunk, s.x.Rows)
}

// prepare computes the triangle of a chunk.
func (s *pass[T]) prepare(step int) {
	lo, hi := s.rows(step)
	touch(s.Q.RowRange(lo, hi))
	touch(s.K.RowRange(lo, hi))
	s.triangle(step).set(&s.Matrix, lo, hi, s.operation)
	if s.aliased {
		s.inspect(lo, hi)
	}
}

// inspect records the first row of X that is not finite, before the row is overwritten.
func (s *pass[T]) inspect(lo, hi int) {
	for i := lo; i < hi; i++ {
		row := s.x.Row(i)
		if finite(row) {
			continue
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.fault == nil || i < s.fault.Row {
			s.fault = &ElementError{Row: i, Value: firstInfinite(row)}
		}
		return
	}
}

// chunk holds the operands of a chunk C for one group.
type chunk[T dense.Float] struct {
	t                 *triangle[T]
	left, right, x, y dense.Matrix[T]
}

// solve replaces X_C by Y_C = T_CC⁻¹·(X_C − left_C·Z) and adds right_CᵀY_C to Z.
func (s *pass[T]) solve(c *chunk[T], z dense.Matrix[T]) {
	matmul.MulPanel(-1, c.left, z, 1, c.x)
	c.t.factor.Solve(c.x)
	matmul.TMulPanel(1, c.right, c.x, 1, z)
}

// mul computes Y_C = left_C·Z + T_CC·X_C and adds right_CᵀX_C to Z.
func (s *pass[T]) mul(c *chunk[T], z dense.Matrix[T]) {
	matmul.MulPanel(1, c.left, z, 0, c.y)
	if s.transposed {
		matmul.TMulPanel(1, c.t.matrix, c.x, 1, c.y)
	} else {
		matmul.MulPanel(1, c.t.matrix, c.x, 1, c.y)
	}
	matmul.TMulPanel(1, c.right, c.x, 1, z)
}
