package rff

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/cholesky"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Nystroem returns the map of the kernel k with n landmarks l_i in R^d [Williams & Seeger 2001]:
//
//	φ(x) = R⁻ᵀ·[k(x, l_P(1)) … k(x, l_P(r))]ᵀ,  K_PP = RᵀR,  R^d → R^r.
//
// Nystroem accepts every kernel k, also your own. The matrix R in the features R⁻ᵀ·[k(x, l_P(1)) …
// k(x, l_P(r))]ᵀ of Nystroem is the upper triangular Cholesky factor, K_PP = RᵀR, of the Gram
// matrix K_PP of the r chosen landmarks l_P(1), …, l_P(r). Nystroem chooses the landmark l with the
// largest residual k(l, l) − ‖φ(l)‖² next, until all residuals are at most n·2⁻⁵² times the largest
// k(l, l). Packages landmarks and kmeans choose landmarks; Nystroem copies them.
//
// Inner products of features of Nystroem equal k(x, y) to rounding if x or y is a chosen landmark.
// At every point x, the squared norm of the features of Nystroem is at most k(x, x), and package
// ridge adds the difference to the variance of predictions.
//
// For r features from n landmarks, Nystroem takes n² values of k and about n²·r/2 multiply-adds.
// For each point, Transform of a map of Nystroem with r features takes r values of k and about r²/2
// + 32r multiply-adds, in float64 also for float32 points. Nystroem returns an error for a k with
// parameters out of range, no landmarks, a value of k that is not finite, and a Gram matrix that is
// not positive semi-definite to rounding, so that k is not a kernel.
func Nystroem[T dense.Float](k kernels.Kernel, landmarks dense.Matrix[T]) (Map[T], error) {
	points, err := pointsOf("landmarks", k, landmarks)
	if err != nil {
		return nil, err
	}
	r, err := fitNystroem(k, points)
	if err != nil {
		return nil, err
	}
	return build[T](r)
}

func fitNystroem(k kernels.Kernel, points dense.Matrix[float64]) (r nystroemRecipe, _ error) {
	gram, err := gramOf(k, "landmarks", points)
	if err != nil {
		return r, err
	}
	n, tolerance := points.Rows, cholesky.Rounding(gram)
	p, err := cholesky.NewPivoted(gram, tolerance)
	if err != nil {
		return r, fmt.Errorf("rff: the %d×%d Gram matrix of landmarks is not positive semi-definite: %w", n, n, err)
	}
	rank := max(p.Rank, 1)
	inverse := make([]float64, rank*(rank+1)/2)
	_ = p.Factor().Invert(context.Background(), func(lo int, w dense.Matrix[float64]) {
		for f := lo; f < w.Rows; f++ {
			copy(inverse[f*(f+1)/2+lo:], w.Row(f)[:min(f-lo+1, w.Cols)])
		}
	})
	return nystroemRecipe{k, layout.Rows(points, p.Order[:rank]), inverse, tolerance}, nil
}

// Spectral returns the spectral (Mercer) map of the kernel k on the rows x_i of x (n×d), from the
// eigenvalues λ_1 ≥ … ≥ λ_n and eigenvectors u_k of the Gram matrix [Bengio et al. 2004]:
//
//	φ(x_i)_k = √λ_k·u_ik,  φ(x)_k = 1/√λ_k · Σ_i u_ik·k(x, x_i),  k ≤ rank,  R^d → R^rank.
//
// No map to R^rank has inner products of the n rows of x closer to the Gram matrix than Spectral,
// and with rank = n the inner products equal the Gram matrix to rounding. The features of Spectral
// are kernel principal components without centring. Spectral gives each eigenvector the sign that
// makes the element of largest absolute value positive.
//
// Spectral keeps a copy of x. For n rows of x, Spectral takes n² values of k and O(n³) operations,
// and Transform of the map takes n values of k and n·rank multiply-adds for each point, in float64.
// Spectral returns an error for a k with parameters out of range, no points, a Gram matrix that is
// not finite and positive semi-definite, eigenvalues that did not converge, and a rank below 1 or
// above the number of eigenvalues above rounding.
func Spectral[T dense.Float](k kernels.Kernel, x dense.Matrix[T], rank int) (Map[T], error) {
	if err := size[float64]("rank", rank); err != nil {
		return nil, err
	}
	points, err := pointsOf("x", k, x)
	if err != nil {
		return nil, err
	}
	r, err := fitSpectral(k, points, rank)
	if err != nil {
		return nil, err
	}
	return build[T](r)
}

func fitSpectral(k kernels.Kernel, points dense.Matrix[float64], rank int) (r spectralRecipe, _ error) {
	gram, err := gramOf(k, "x", points)
	if err != nil {
		return r, err
	}
	n := points.Rows
	var eig mat.EigenSym
	if !eig.Factorize(mat.NewSymDense(n, gram.Data), true) {
		return r, fmt.Errorf("rff: the eigendecomposition of the %d×%d Gram matrix of x did not converge", n, n)
	}
	values := eig.Values(nil) // ascending
	tolerance := float64(n) * 0x1p-52 * max(math.Abs(values[0]), math.Abs(values[n-1]))
	if values[0] < -tolerance {
		return r, fmt.Errorf("rff: the %d×%d Gram matrix of x is not positive semi-definite: eigenvalue %.3g is below −%.3g", n, n, values[0], tolerance)
	}
	positive := n
	for positive > 0 && !(values[n-positive] > tolerance) {
		positive--
	}
	if rank > positive {
		return r, fmt.Errorf("rff: rank = %d is more than the numerical rank %d of the %d×%d Gram matrix of x", rank, positive, n, n)
	}
	var vectors mat.Dense
	eig.VectorsTo(&vectors)
	u := upright(gonum.FromMat[float64](&vectors))
	coefficients := dense.New[float64](n, rank)
	for k := range rank {
		by := 1 / math.Sqrt(values[n-1-k])
		for i := range n {
			coefficients.Set(i, k, u.At(i, n-1-k)*by)
		}
	}
	return spectralRecipe{k, points, coefficients, tolerance}, nil
}

type nystroemRecipe struct {
	K         kernels.Kernel
	Points    dense.Matrix[float64] // the landmarks in the order P, r×d
	Inverse   []float64             // the lower triangle of R⁻ᵀ, row by row
	Tolerance float64               // a residual within it may be rounding
}

func nystroemMap[T dense.Float](s nystroemRecipe) (Map[T], error) {
	n := s.Points.Rows
	if want := uint64(n) * uint64(n+1) / 2; uint64(len(s.Inverse)) != want {
		return nil, fmt.Errorf("rff: inverse has %d numbers, want the %d of a triangle of order %d", len(s.Inverse), want, n)
	}
	if err := limit.Memory[float64](n, n); err != nil {
		return nil, fmt.Errorf("rff: points are %d×%d: %w", n, s.Points.Cols, err)
	}
	if err := argument.FiniteAll("rff: inverse", s.Inverse); err != nil {
		return nil, err
	}
	c := dense.New[float64](n, n)
	for f := range n {
		for i, v := range s.Inverse[f*(f+1)/2:][:f+1] {
			c.Set(i, f, v)
		}
	}
	return newEmbedding[T]("Nystroem", s.K, s.Points, c, s.Tolerance, s)
}

type spectralRecipe struct {
	K            kernels.Kernel
	Points       dense.Matrix[float64] // n×d
	Coefficients dense.Matrix[float64] // u_ik/√λ_k, n×rank
	Tolerance    float64               // a residual within it may be rounding
}

func spectralMap[T dense.Float](s spectralRecipe) (Map[T], error) {
	c := s.Coefficients
	if c.Cols < 1 || c.Rows != s.Points.Rows {
		return nil, fmt.Errorf("rff: points are %d×%d, coefficients %d×%d, want as many rows and at least one feature",
			s.Points.Rows, s.Points.Cols, c.Rows, c.Cols)
	}
	if err := argument.Finite("rff: coefficients", c); err != nil {
		return nil, err
	}
	return newEmbedding[T]("Spectral", s.K, s.Points, c, s.Tolerance, s)
}

// embedding is the map φ(x) = Cᵀ·[k(x, p_1) … k(x, p_n)]ᵀ.
type embedding[T dense.Float] struct {
	blockwise[T, embeddingSpace]
	points       kernels.Fixed
	coefficients []coefficientColumns
	tolerance    float64
}

// coefficientColumns are columns of the coefficients from first on, without the last rows that are
// zero.
type coefficientColumns struct {
	first  int
	packed matmul.Packed[float64]
}

// A product of more columns multiplies more zeros of a triangle.
const columnsAtOnce = 64

type embeddingSpace struct{ x, gram, phi []float64 }

func newEmbedding[T dense.Float](name string, k kernels.Kernel, points, c dense.Matrix[float64], tolerance float64, recipe any) (Map[T], error) {
	if points.Rows < 1 || points.Cols < 1 {
		return nil, fmt.Errorf("rff: points are %d×%d, want at least 1×1", points.Rows, points.Cols)
	}
	if err := kernels.Check(k); err != nil {
		return nil, fmt.Errorf("rff: %w", err)
	}
	if err := cmp.Or(pointsFit(k, points.Cols), argument.Finite("rff: points", points)); err != nil {
		return nil, err
	}
	prepared, err := kernels.Against(k, points)
	if err != nil {
		return nil, fmt.Errorf("rff: k is out of range: %w", err)
	}
	e := &embedding[T]{points: prepared, tolerance: tolerance}
	e.frame = frame{name: fmt.Sprintf("%s(%v)", name, k), in: points.Cols, out: c.Cols, kernel: k, recipe: recipe}
	e.rows, e.transform = blockRows, e.block
	e.coefficients = make([]coefficientColumns, 0, (c.Cols+columnsAtOnce-1)/columnsAtOnce)
	for first := 0; first < c.Cols; first += columnsAtOnce {
		part := c.ColRange(first, min(first+columnsAtOnce, c.Cols))
		for part.Rows > 1 && isZero(part.Row(part.Rows-1)) {
			part = part.RowRange(0, part.Rows-1)
		}
		e.coefficients = append(e.coefficients, coefficientColumns{first: first})
		matmul.Pack(&e.coefficients[len(e.coefficients)-1].packed, part)
	}
	return e, nil
}

func isZero(x []float64) bool { return !slices.ContainsFunc(x, func(v float64) bool { return v != 0 }) }

func (e *embedding[T]) block(s *embeddingSpace, dst, x, _ dense.Matrix[T]) {
	points := dense.Copy(scratchMatrix(&s.x, x.Rows, e.in), x)
	gram := e.points.Gram(scratchMatrix(&s.gram, x.Rows, e.points.Points().Rows), points)
	phi := scratchMatrix(&s.phi, x.Rows, e.out)
	for i := range e.coefficients {
		c := &e.coefficients[i]
		n, width := c.packed.Dims()
		matmul.MulPacked(1, gram.ColRange(0, n), &c.packed, 0, phi.ColRange(c.first, c.first+width), nil)
	}
	dense.Copy(dst, phi)
}

func pointsOf[T dense.Float](name string, k kernels.Kernel, x dense.Matrix[T]) (none dense.Matrix[float64], _ error) {
	if err := kernels.Check(k); err != nil {
		return none, fmt.Errorf("rff: %w", err)
	}
	x.Check()
	if x.Rows < 1 || x.Cols < 1 {
		return none, fmt.Errorf("rff: %s is %d×%d, want at least 1×1", name, x.Rows, x.Cols)
	}
	if err := limit.Memory[float64](x.Rows, x.Rows); err != nil {
		return none, fmt.Errorf("rff: %s is %d×%d, its Gram matrix %d×%d: %w", name, x.Rows, x.Cols, x.Rows, x.Rows, err)
	}
	return dense.Copy(none, x), nil
}

func gramOf(k kernels.Kernel, name string, points dense.Matrix[float64]) (dense.Matrix[float64], error) {
	gram := kernels.Gram(dense.Matrix[float64]{}, k, points, dense.Matrix[float64]{})
	for i := range gram.Rows {
		for j, v := range gram.Row(i)[:i+1] {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return gram, fmt.Errorf("rff: k(%s[%d], %s[%d]) = %v, want a finite number", name, i, name, j, v)
			}
		}
	}
	return gram, nil
}

// upright makes the first element of largest absolute value of each column of u positive.
func upright(u dense.Matrix[float64]) dense.Matrix[float64] {
	for k := range u.Cols {
		peak := 0.0
		for i := range u.Rows {
			if w := u.At(i, k); math.Abs(w) > math.Abs(peak) {
				peak = w
			}
		}
		flip := math.Copysign(1, peak)
		for i := range u.Rows {
			u.Set(i, k, flip*u.At(i, k))
		}
	}
	return u
}
