package semiseparable

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// Woodbury is the n×n matrix A = Λ + QKᵀ, without a mask, factored for solutions by Woodbury's
// identity
//
//	A⁻¹ = Λ⁻¹ − Λ⁻¹Q·S⁻¹·KᵀΛ⁻¹,  S = I + KᵀΛ⁻¹Q  (d×d, the capacitance matrix)
//
// Q and K are n×d, and Λ is diagonal. A Woodbury shares the memory of diag, Q and K, which must not
// change. Goroutines may share a Woodbury.
type Woodbury[T dense.Float] struct {
	diag []T
	q, k dense.Matrix[T]
	s    mat.LU // of Sᵀ: gonum's condition number in the ∞-norm is that of S in the 1-norm
}

// SingularError reports a capacitance matrix that is singular to working precision.
type SingularError struct {
	Cond float64 // an estimate of the condition number in the 1-norm
}

// Error returns a text with the condition number.
func (e *SingularError) Error() string {
	return fmt.Sprintf("semiseparable: I + KᵀΛ⁻¹Q is singular to working precision, its condition number is %.3g", e.Cond)
}

// NewWoodbury factors Λ + QKᵀ in O(n·d² + d³). diag holds the diagonal of Λ; nil means ones. Q and
// K are n×d. NewWoodbury computes products of 256 rows in the element type, and sums and factors S
// in float64.
//
// The error is an *ElementError if an element of diag is no divisor, or if q or k has NaN or ±Inf.
// It is a *SingularError if the condition number of S is at least 2²⁴ (float32) or 2⁵³ (float64);
// no digit of a solution would then be right. Another error reports an S that overflows or takes
// more than 2⁴⁰ bytes. NewWoodbury panics with the shapes if they do not fit.
func NewWoodbury[T dense.Float](diag []T, q, k dense.Matrix[T]) (*Woodbury[T], error) {
	checkShapes(diag, q, k)
	if err := limit.Memory[float64](q.Cols, q.Cols); err != nil {
		return nil, fmt.Errorf("semiseparable: q is %d×%d, the capacitance matrix %d×%d: %w", q.Rows, q.Cols, q.Cols, q.Cols, err)
	}
	if err := checkPivots(diag); err != nil {
		return nil, err
	}
	if err := checkArguments(diag, q, k); err != nil {
		return nil, err
	}
	w := &Woodbury[T]{diag: diag, q: q, k: k}
	if q.Cols == 0 {
		return w, nil
	}
	s := w.project(q)
	for i := range q.Cols {
		s.Data[i*s.Stride+i]++
	}
	if checkResult(s, false) != nil {
		return nil, errors.New("semiseparable: KᵀΛ⁻¹Q overflows")
	}
	w.s.Factorize(gonum.ToMat(s).T())
	if cond := w.s.Cond(); !(cond < 1/roundoff[T]()) {
		return nil, &SingularError{cond}
	}
	return w, nil
}

// Dims returns the order n of A and the rank d of QKᵀ.
func (w *Woodbury[T]) Dims() (n, d int) { return w.q.Rows, w.q.Cols }

// Cond returns an estimate of the condition number of S in the 1-norm, and 1 if d is 0.
func (w *Woodbury[T]) Cond() float64 {
	if w.q.Cols == 0 {
		return 1
	}
	return w.s.Cond()
}

// LogDet returns log|det A| = Σ log|λ_i| + log|det S| and the sign of det A, in O(n + d).
func (w *Woodbury[T]) LogDet() (log, sign float64) {
	log, sign = logDet(w.diag)
	if w.q.Cols > 0 {
		l, s := w.s.LogDet()
		log, sign = log+l, sign*s
	}
	return log, sign
}

// Solve writes Y = A⁻¹·V into dst and returns dst. V and Y are n×p. If dst is zero, Solve allocates
// it. Solve takes O(n·d·p + d²·p) operations and, beyond dst, O(d·p) memory.
//
// dst may be V exactly, and must not overlap V otherwise, nor Q, K or diag. The result does not
// depend on GOMAXPROCS. The error is an *ElementError if V has NaN or ±Inf, and an *OverflowError
// if the solution leaves the range of T. After an error the elements of dst are undefined.
func (w *Woodbury[T]) Solve(dst, v dense.Matrix[T]) (dense.Matrix[T], error) {
	n, d := w.Dims()
	checkOperand("v", v, n, d)
	dst = dense.Ensure(dst, n, v.Cols)
	if err := checkFinite("v", v); err != nil {
		return dst, err
	}
	if n == 0 || v.Cols == 0 {
		return dst, nil
	}
	var x matmul.Packed[T]
	matmul.Pack(&x, w.capacitate(w.project(v)))
	for lo := 0; lo < n; lo += woodburyRows {
		hi := min(lo+woodburyRows, n)
		y := dense.Copy(dst.RowRange(lo, hi), v.RowRange(lo, hi))
		matmul.MulPacked(-1, w.q.RowRange(lo, hi), &x, 1, y, nil)
		w.divide(y, y, lo)
	}
	return dst, checkResult(dst, false)
}

// Inverse writes A⁻¹ into the n×n matrix dst and returns dst. If dst is zero, Inverse allocates it.
// Inverse takes O(n²·d + n·d²) operations and, beyond dst, O(n·d) memory.
//
// dst must not overlap Q, K or diag. The result does not depend on GOMAXPROCS. The error is an
// *OverflowError if the inverse leaves the range of T. After an error the elements of dst are
// undefined.
func (w *Woodbury[T]) Inverse(dst dense.Matrix[T]) (dense.Matrix[T], error) {
	n, d := w.Dims()
	dst = dense.Ensure(dst, n, n)
	if n == 0 {
		return dst, nil
	}
	// gonum solves in float64. A few columns of S⁻¹·KᵀΛ⁻¹ at a time need little memory.
	x := dense.New[T](d, n)
	for lo := 0; lo < n && d > 0; lo += woodburyRows {
		hi := min(lo+woodburyRows, n)
		k := w.divide(dense.New[T](hi-lo, d), w.k.RowRange(lo, hi), lo)
		columns := dense.Transpose(dense.Matrix[float64]{}, dense.Copy(dense.Matrix[float64]{}, k))
		dense.Copy(x.ColRange(lo, hi), w.capacitate(columns))
	}
	var p matmul.Packed[T]
	matmul.Pack(&p, x)
	for lo := 0; lo < n; lo += woodburyRows {
		hi := min(lo+woodburyRows, n)
		y := dst.RowRange(lo, hi)
		q := w.divide(dense.New[T](hi-lo, d), w.q.RowRange(lo, hi), lo)
		matmul.MulPacked(-1, q, &p, 0, y, nil)
		for i := lo; i < hi; i++ {
			dst.Data[i*dst.Stride+i] += w.reciprocal(i)
		}
	}
	return dst, checkResult(dst, false)
}

// woodburyRows is the number of rows of one product.
const woodburyRows = 256

// project returns KᵀΛ⁻¹V, summed in float64.
func (w *Woodbury[T]) project(v dense.Matrix[T]) dense.Matrix[float64] {
	n, d := w.Dims()
	sum, term := dense.New[float64](d, v.Cols), dense.New[T](d, v.Cols)
	scaled := dense.New[T](min(woodburyRows, n), v.Cols)
	for lo := 0; lo < n; lo += woodburyRows {
		hi := min(lo+woodburyRows, n)
		x := w.divide(scaled.RowRange(0, hi-lo), v.RowRange(lo, hi), lo)
		matmul.TMul(1, w.k.RowRange(lo, hi), x, 0, term)
		for i, a := range term.Data {
			sum.Data[i] += float64(a)
		}
	}
	return sum
}

// capacitate returns S⁻¹·X.
func (w *Woodbury[T]) capacitate(x dense.Matrix[float64]) dense.Matrix[T] {
	if x.Rows == 0 || x.Cols == 0 {
		return dense.New[T](x.Rows, x.Cols)
	}
	y := gonum.ToMat(x)
	// NewWoodbury has checked the condition number, which gonum reports as an error.
	var conditioned mat.Condition
	if err := w.s.SolveTo(y, true, y); err != nil && !errors.As(err, &conditioned) {
		panic(err)
	}
	return dense.Copy(dense.Matrix[T]{}, gonum.FromMat[float64](y))
}

// divide writes the rows of x, divided by λ_lo, λ_{lo+1}, …, into dst and returns it.
func (w *Woodbury[T]) divide(dst, x dense.Matrix[T], lo int) dense.Matrix[T] {
	dense.Copy(dst, x)
	for i := 0; i < dst.Rows && w.diag != nil; i++ {
		v := w.diag[lo+i]
		row := dst.Row(i)
		for j := range row {
			row[j] /= v
		}
	}
	return dst
}

// reciprocal returns 1/λ_i.
func (w *Woodbury[T]) reciprocal(i int) T {
	if w.diag == nil {
		return 1
	}
	return 1 / w.diag[i]
}
