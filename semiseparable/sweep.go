package semiseparable

import (
	"sync"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/parallel"
	"github.com/seed-feabd252/randfeat/internal/product"
	"github.com/seed-feabd252/randfeat/internal/triangular"
)

// operation is what a sweep computes.
type operation struct {
	solving    bool // T⁻¹·X instead of T·X
	transposed bool // with Tᵀ in place of T
}

// sizes is how a sweep is cut.
type sizes struct {
	chunk  int // rows that go together
	window int // chunks that are prepared at a time
}

// tuned returns the sizes that are fastest for p columns. In a chunk of c rows, each row costs 2dp
// multiply-adds and about c·(d + p/2) for the triangle, and d·p/c elements of Z
// are copied for it.
//
// A window of p columns stays in the second cache.
func tuned(p int) sizes {
	const chunk, most, elements = 48, 8, 1 << 16
	return sizes{chunk: chunk, window: min(max(elements/(chunk*max(p, 1)), 2), most)}
}

// sweep computes T·X or T⁻¹·X, or the same with Tᵀ, chunk by chunk.
//
// Columns do not depend on each other. They are cut into groups, and a group goes
// through all chunks of a window while other goroutines prepare the next window:
// they make the triangles and copy X to where it is replaced by the result.
type sweep[T dense.Float] struct {
	Matrix[T]
	operation
	sizes
	left, right dense.Matrix[T] // Z is Σ rightᵀ·Y over the chunks before and enters as left·Z
	dst, x      dense.Matrix[T]
	aliased     bool // dst is x

	steps     int
	phase     int     // the window that groups are in; that which is prepared is one ahead
	running   int     // groups that go through it
	triangles ring[T] // chunk×chunk
	staged    ring[T] // chunk×p: for one group after another, its columns
	groups    []group[T]

	mu    sync.Mutex
	fault *ElementError // the first row of x that is not finite, if x is overwritten
}

// group is some columns of the result.
type group[T dense.Float] struct {
	from, to int
	z        dense.Matrix[T] // d×(to−from)
	zData    []T
	px, pz   product.Packed[T]
}

// run computes T⁻¹·X or T·X into dst. name is what errors call x.
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
	keep := &poolsOf[T]().sweeps
	s := keep.Get()
	s.start(m, dst, x, op, size)
	s.all()
	err := s.check(name)
	s.forget()
	keep.Put(s)
	return dst, err
}

func (s *sweep[T]) start(m Matrix[T], dst, x dense.Matrix[T], op operation, size sizes) {
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
	slots := min(2*s.window, s.steps)
	s.triangles.resize(slots, s.chunk*s.chunk)
	s.staged.resize(slots, s.chunk*x.Cols)
	width := groupWidth(x.Cols)
	count := (x.Cols + width - 1) / width
	for len(s.groups) < count {
		s.groups = append(s.groups, group[T]{})
	}
	s.groups = s.groups[:count]
	for i := range s.groups {
		s.groups[i].start(i*width, min((i+1)*width, x.Cols), d)
	}
}

// groupWidth returns the number of columns that go together, of p. Two processors share
// up to 128 columns; a group of less than 32 would not fill the vectors of a product.
func groupWidth(p int) int {
	const least, most, multiple = 32, 64, 16
	half := (p + 1) / 2
	return min(max((half+multiple-1)/multiple*multiple, least), most)
}

func (g *group[T]) start(from, to, d int) {
	g.from, g.to = from, to
	cols := to - from
	g.zData = resize(g.zData, d*cols)
	g.z = dense.Of(d, cols, g.zData)
	clear(g.zData)
}

// forget lets go of what belongs to the caller.
func (s *sweep[T]) forget() {
	s.Matrix = Matrix[T]{}
	s.left, s.right, s.dst, s.x = s.Q, s.Q, s.Q, s.Q
	s.fault = nil
}

// all goes through all chunks.
func (s *sweep[T]) all() {
	for s.phase = -1; s.phase*s.window < s.steps; s.phase++ {
		s.running = len(s.groups)
		if s.phase < 0 {
			s.running = 0
		}
		ahead := (s.phase + 1) * s.window
		parallel.Do(s.running+max(0, min(s.window, s.steps-ahead)), s)
	}
}

// Piece lets a group go through the window, or prepares a chunk of the next. Half the groups
// come first and half last, which is where goroutines begin: what is left in the end
// is small.
func (s *sweep[T]) Piece(i int) {
	first := s.phase * s.window
	ahead := min(s.window, s.steps-first-s.window)
	switch half := (s.running + 1) / 2; {
	case i < half:
		s.advance(&s.groups[i], first)
	case i < half+ahead:
		s.prepare(first + s.window + i - half)
	default:
		s.advance(&s.groups[i-max(ahead, 0)], first)
	}
}

// advance lets a group go through the window that begins at step first.
func (s *sweep[T]) advance(g *group[T], first int) {
	for step := first; step < min(first+s.window, s.steps); step++ {
		lo, hi := s.rows(step)
		w := s.columns(g, step, hi-lo)
		if s.solving {
			s.solveChunk(g, s.triangle(step, hi-lo), w, lo, hi)
		} else {
			s.mulChunk(g, s.triangle(step, hi-lo), w, lo, hi)
		}
		copyRows(s.dst.Data[lo*s.dst.Stride+g.from:], s.dst.Stride, w.Data, w.Stride, w.Rows, w.Cols)
	}
}

// triangle returns the triangle of a step, of order n.
func (s *sweep[T]) triangle(step, n int) triangle[T] {
	return triangle[T]{dense.Of(n, n, s.triangles.at(step)[:n*n])}
}

// columns returns the n rows of a step that belong to g.
func (s *sweep[T]) columns(g *group[T], step, n int) dense.Matrix[T] {
	cols := g.to - g.from
	return dense.Of(n, cols, s.staged.at(step)[s.chunk*g.from:][:n*cols])
}

// rows returns the rows lo ≤ i < hi of a step: chunks from the first to the last, or
// the other way for Tᵀ.
func (s *sweep[T]) rows(step int) (lo, hi int) {
	if s.transposed {
		step = s.steps - 1 - step
	}
	return step * s.chunk, min((step+1)*s.chunk, s.x.Rows)
}

// prepare makes the triangle of a chunk and copies X.
func (s *sweep[T]) prepare(step int) {
	lo, hi := s.rows(step)
	touch(s.Q.RowRange(lo, hi))
	touch(s.K.RowRange(lo, hi))
	s.triangle(step, hi-lo).fill(&s.Matrix, lo, hi, s.solving)
	if s.aliased {
		s.inspect(lo, hi)
	}
	for i := range s.groups {
		g := &s.groups[i]
		w := s.columns(g, step, hi-lo)
		copyRows(w.Data, w.Stride, s.x.Data[lo*s.x.Stride+g.from:], s.x.Stride, w.Rows, w.Cols)
	}
}

// inspect looks for rows of X that are not finite, before they are overwritten.
func (s *sweep[T]) inspect(lo, hi int) {
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

// solveChunk replaces X_C by Y_C = T_CC⁻¹·(X_C − left_C·Z) and adds right_CᵀY_C to Z.
func (s *sweep[T]) solveChunk(g *group[T], t triangle[T], w dense.Matrix[T], lo, hi int) {
	product.Pack(&g.pz, g.z)
	product.MulPacked(-1, s.left.RowRange(lo, hi), &g.pz, 1, w, nil)
	if s.transposed {
		triangular.SolveTransposed(t.Matrix, w, &g.px)
	} else {
		triangular.Solve(t.Matrix, w, &g.px)
	}
	product.Pack(&g.px, w)
	product.TMulPacked(1, s.right.RowRange(lo, hi), &g.px, 1, g.z, nil)
}

// mulChunk replaces X_C by Y_C = left_C·Z + T_CC·X_C and adds right_CᵀX_C to Z.
func (s *sweep[T]) mulChunk(g *group[T], t triangle[T], w dense.Matrix[T], lo, hi int) {
	product.Pack(&g.px, w)
	product.Pack(&g.pz, g.z)
	product.MulPacked(1, s.left.RowRange(lo, hi), &g.pz, 0, w, nil)
	if s.transposed {
		product.TMulPacked(1, t.Matrix, &g.px, 1, w, nil)
	} else {
		product.MulPacked(1, t.Matrix, &g.px, 1, w, nil)
	}
	product.TMulPacked(1, s.right.RowRange(lo, hi), &g.px, 1, g.z, nil)
}
