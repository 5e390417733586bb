package performer

import (
	"cmp"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/triangular"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// landmarkSet holds landmarks: the log-features log φ_z(x) = s·zᵀx − a_z and the factor of G. A
// landmark beyond rank, or one that others span, has log-features of −Inf.
type landmarkSet[T dense.Float] struct {
	scale   float64
	points  scratch.Buffer[T] // r×d
	packed  matmul.Packed[T]  // transposed
	offsets []T               // −a_z, or −Inf
	halves  []float64         // a_z, and the logarithm of the factor of a centred key
	means   *landmarkMeans[T] // nil if points are not centred

	own []ownKey // landmarks that are keys, in ascending order of keys

	gram, wide scratch.Buffer[float64] // r×r, r×d
	diagonal   []float64
	factor     triangular.Factor[float64]
	sums       scratch.Buffer[float64] // r×width
}

// ownKey says which key a landmark is.
type ownKey struct{ key, landmark int }

// use makes l the landmarks of other, which must not change while l is in use. Only l has the memory
// for systems of equations.
func (l *landmarkSet[T]) use(other *landmarkSet[T]) {
	l.scale, l.means, l.points, l.packed, l.wide = other.scale, other.means, other.points, other.packed, other.wide
	l.offsets, l.halves, l.own = other.offsets, other.halves, other.own
	l.factor.Use(&other.factor)
}

// prepare makes room for r landmarks of dimension d.
func (l *landmarkSet[T]) prepare(r, d int) dense.Matrix[T] {
	l.points.Shape(r, d)
	l.offsets, l.halves = scratch.Resize(l.offsets, r), scratch.Resize(l.halves, r)
	return l.points.Rows(r)
}

// build prepares the features and the factor, once the first n of the points are landmarks.
func (l *landmarkSet[T]) build(n int) {
	r := len(l.offsets)
	points := l.points.Rows(r)
	for i := n; i < r; i++ {
		clear(points.Row(i))
	}
	matmul.PackT(&l.packed, points)
	l.wide.Shape(r, points.Cols)
	l.gram.Shape(r, r)
	l.diagonal = scratch.Resize(l.diagonal, r)
	z, g := l.wide.Rows(n), l.gram.Rows(r)
	dense.Copy(z, points.RowRange(0, n))
	zero(g)
	live := g.RowRange(0, n).ColRange(0, n)
	matmul.MulT(l.scale, z, z, 0, live)
	for i := range r {
		l.halves[i], l.offsets[i], l.diagonal[i] = 0, T(math.Inf(-1)), 1
		if i < n {
			l.halves[i] = g.Row(i)[i] / 2
		}
	}
	for i := range n {
		row := g.Row(i)[:i+1]
		for j, x := range row {
			row[j] = math.Exp(min(x-l.halves[i]-l.halves[j], 0))
		}
	}
	factorise(live, l.diagonal[:n])
	for i := range n {
		if l.diagonal[i] == 0 {
			l.diagonal[i] = 1
			continue
		}
		// The weight exp(a_z) of a landmark that is a key meets φ_z, which has the rounded a_z.
		l.offsets[i] = T(-l.halves[i])
		l.halves[i] = l.logFactor(points.Row(i)) - float64(l.offsets[i])
	}
	l.factor.Set(g, l.diagonal)
}

// leastPivot is the residual of a landmark, relative to 1, that others span to rounding.
const leastPivot = 0x1p-40

// factorise replaces the lower triangle of the matrix G, whose diagonal is 1, by its Cholesky
// factor, and sets diagonal to the diagonal of the factor. A row whose residual is rounding gets
// the diagonal 0, and zeros in its row and column: that is the factor without this row and column.
func factorise(g dense.Matrix[float64], diagonal []float64) {
	const panel = 32
	n := g.Rows
	for at := 0; at < n; at += panel {
		end := min(at+panel, n)
		if at > 0 {
			matmul.MulT(-1, g.RowRange(at, n).ColRange(0, at), g.RowRange(at, end).ColRange(0, at), 1, g.RowRange(at, n).ColRange(at, end))
		}
		for j := at; j < end; j++ {
			pivot := g.Row(j)
			left := pivot[j]
			for _, x := range pivot[at:j] {
				left -= x * x
			}
			if left <= leastPivot {
				diagonal[j] = 0
				clear(pivot[:j])
				for i := j + 1; i < n; i++ {
					g.Row(i)[j] = 0
				}
				continue
			}
			root := math.Sqrt(left)
			diagonal[j] = root
			for i := j + 1; i < n; i++ {
				row := g.Row(i)
				x := row[j]
				for l, y := range pivot[at:j] {
					x -= y * row[at+l]
				}
				row[j] = x / root
			}
		}
	}
}

// logTransform writes log φ of the rows of x into dst and returns dst; a zero dst is allocated.
func (l *landmarkSet[T]) logTransform(dst, x dense.Matrix[T]) dense.Matrix[T] {
	dst = dense.Ensure(dst, x.Rows, len(l.offsets))
	matmul.MulPacked(T(l.scale), x, &l.packed, 0, dst, nil)
	for i := range dst.Rows {
		vecmath.AffineEach(dst.Row(i), 1, l.offsets, 0)
	}
	return dst
}

// hide takes the features of keys that are landmarks out of a block that begins with key number lo.
func (l *landmarkSet[T]) hide(logs dense.Matrix[T], lo int) {
	at, _ := slices.BinarySearchFunc(l.own, lo, func(o ownKey, key int) int { return cmp.Compare(o.key, key) })
	for ; at < len(l.own) && l.own[at].key < lo+logs.Rows; at++ {
		fill(logs.Row(l.own[at].key-lo), T(math.Inf(-1)))
	}
}

// logBackward writes s·slopes·Z into dx: the gradients with respect to points, where slopes are
// those with respect to log φ.
func (l *landmarkSet[T]) logBackward(dx, slopes dense.Matrix[T]) {
	matmul.Mul(T(l.scale), slopes, l.points.Rows(len(l.offsets)), 0, dx)
}

// mix replaces the sums S over the keys that are not landmarks by G⁻¹·S, and adds the landmarks
// that are keys with their weights and values, which are rows of v.
func (l *landmarkSet[T]) mix(acc *accumulator[T], v dense.Matrix[T]) {
	top := l.solve(acc, acc)
	for _, o := range l.own {
		l.place(acc, o.landmark, top, v.Row(o.key), true)
	}
}

// solve makes G⁻¹·S the sums of to, for the sums S of acc, which may be to. The result is in sums
// as well, relative to exp(top).
func (l *landmarkSet[T]) solve(to, acc *accumulator[T]) (top int64) {
	sums, exponents := acc.sums(), acc.ref.exponent
	l.sums.Shape(sums.Rows, sums.Cols)
	wide := l.sums.Rows(sums.Rows)
	top = slices.Max(exponents)
	for f := range sums.Rows {
		factor := 1.0
		if exponents[f] != none {
			factor = lowering[float64](exponents[f], top)
		}
		row := wide.Row(f)
		for j, x := range sums.Row(f) {
			row[j] = float64(x) * factor
		}
	}
	l.factor.Solve(wide)
	l.factor.SolveTransposed(wide)
	for f := range sums.Rows {
		l.place(to, f, top, nil, false)
	}
	return top
}

// place makes x·exp(top), where x is row f of sums, the sums of landmark f, and adds exp(a_z)·[v,
// 1] if the landmark z is a key.
func (l *landmarkSet[T]) place(acc *accumulator[T], f int, top int64, v []T, isKey bool) {
	x := l.sums.Rows(acc.m).Row(f)
	log, own, first, rest := math.Inf(-1), 0.0, 1.0, 1.0
	var peak float64
	if isKey {
		log = l.halves[f]
	}
	if top != none {
		for _, y := range x {
			peak = max(peak, math.Abs(y))
		}
		if peak > 0 && peak <= math.MaxFloat64 {
			at := logOf(top)
			if !isFar(top) { // a far reference is a number of T
				at += math.Log(peak)
			}
			log = max(log, at)
		}
	}
	n := int64(none)
	if !math.IsInf(log, -1) {
		n = exponentOf(float64(T(log)))
		if isKey {
			own = math.Exp(l.halves[f] - logOf(n))
		}
		if top != none && peak != 0 {
			if rest = lowering[float64](top, n); math.IsInf(rest, 1) { // and numbers below the normal ones
				first, rest = 0x1p1000, lowering[float64](top, n+1000)
			}
		}
	}
	acc.ref.set(f, n)
	to := acc.sums().Row(f)
	for j, y := range x {
		y = y * first * rest
		switch {
		case !isKey:
		case j < len(v):
			y += own * float64(v[j])
		default:
			y += own
		}
		to[j] = T(y)
	}
}
