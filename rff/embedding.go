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
	"github.com/seed-feabd252/randfeat/internal/door"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Embedding is a map made of the values of a kernel at points p_1 … p_n,
//
//	φ(x) = Cᵀ·[k(x, p_1) … k(x, p_n)]ᵀ,  C ∈ R^{n×out},
//
// for every kernel, also a user's own. Nystroem chooses C by a factorisation of the Gram matrix of
// the points, and Spectral by its eigenvalues. Far from the points the features vanish: package
// ridge adds the variance k(x, x) − ‖φ(x)‖² to its deviations.
//
// Transform computes in float64 for both T and rounds once, because C magnifies rounding errors of
// k by up to 1/√Tolerance. Each row of x costs a row of the Gram matrix with the points and 2·n·out
// operations, or n² + 64n for Nystroem. Scratch memory is a few times n + out numbers for each of
// 64 rows in each goroutine, and is kept for later calls.
type Embedding[T dense.Float] interface {
	Map[T]

	// Points returns φ of the points p_i, one in each row, in a fresh copy. The features come from
	// the factorisation, without a kernel evaluation.
	Points() dense.Matrix[T]

	// Rank returns the number of features that are not zero at all points: for Nystroem the number
	// of landmarks whose residual is above Tolerance, for Spectral the argument rank.
	Rank() int

	// Tolerance returns n·ε times the largest element on the diagonal of the Gram matrix for
	// Nystroem, and n·ε times the largest eigenvalue for Spectral, with ε = 2⁻⁵². A residual or an
	// eigenvalue within Tolerance of zero may be rounding.
	Tolerance() float64
}

// Nystroem returns the Nyström map of k with the given landmarks L (n×d) [Williams & Seeger 2001],
//
//	φ(x) = R⁻ᵀ·[k(x, l_P(1)) … k(x, l_P(r))]ᵀ,  K_PP = RᵀR,
//
// from R^d into R^n. R is the Cholesky factor of the Gram matrix of r landmarks. The order P takes
// the landmark with the largest residual k(l, l) − ‖φ(l)‖² next, until all residuals are at most
// Tolerance. Features after the first r are zero. φ(x)ᵀφ(y) is the inner product of the projections
// of x and y, in the space of k, onto the span of the landmarks. So φ(x)ᵀφ(y) equals k(x, y) to
// rounding if x or y is a landmark. Elsewhere ‖φ(x)‖² ≤ k(x, x), and the gap is small if landmarks
// are close to the data in the space of k. Packages landmarks and kmeans choose them.
//
// The landmarks are copied. Building costs n Gram rows and about n³/2 multiply-adds in matrix
// products, in float64.
//
// Nystroem returns an error for a nil k, parameters of k out of range, no landmarks or too many for
// memory, a value of k that is not finite, and a Gram matrix with a residual that is not positive
// semi-definite to rounding, so that k is not a kernel.
func Nystroem[T dense.Float](k kernels.Kernel, landmarks dense.Matrix[T]) (Embedding[T], error) {
	points, err := pointsOf("landmarks", k, landmarks)
	if err != nil {
		return nil, err
	}
	r, err := fitNystroem(k, points)
	if err != nil {
		return nil, err
	}
	return door.Choose[T, Embedding[T]](make32, make64, r)
}

func fitNystroem(k kernels.Kernel, points dense.Matrix[float64]) (r embeddingRecipe, _ error) {
	gram, err := gramOf(k, "landmarks", points)
	if err != nil {
		return r, err
	}
	n, largest := points.Rows, 0.0
	for i := range n {
		largest = max(largest, math.Abs(gram.At(i, i)))
	}
	tolerance := float64(n) * 0x1p-52 * largest
	p, err := cholesky.NewPivoted(gram, tolerance)
	if err != nil {
		return r, fmt.Errorf("rff: the %d×%d Gram matrix of landmarks is not positive semi-definite: %w", n, n, err)
	}
	c, features, ordered := dense.New[float64](n, n), dense.New[float64](n, n), dense.New[float64](n, points.Cols)
	_ = p.Factor().Invert(context.Background(), func(lo int, w dense.Matrix[float64]) {
		for f := lo; f < w.Rows; f++ {
			for i, v := range w.Row(f)[:min(f-lo+1, w.Cols)] {
				c.Set(lo+i, f, v)
			}
		}
	})
	for f := range p.Rank {
		for i, v := range p.R.Row(f)[f:] {
			features.Set(p.Order[f+i], f, v)
		}
	}
	for i, at := range p.Order {
		copy(ordered.Row(i), points.Row(at))
	}
	return embeddingRecipe{"Nystroem", k, ordered, c, features, tolerance, p.Rank}, nil
}

// Spectral returns the spectral (Mercer) map of k on the points x (n×d): with the eigenvalues λ_1 ≥
// … ≥ λ_n of their Gram matrix and its eigenvectors u_k,
//
//	φ(x_i)_k = √λ_k·u_ik,  φ(x)_k = 1/√λ_k · Σ_i u_ik·k(x, x_i),  k ≤ rank,
//
// R^d → R^rank. The second formula extends the first formula to any x and agrees with it on the
// points [Bengio et al. 2004]. Points returns the first formula. No other map to R^rank has inner
// products closer to the Gram matrix in Frobenius or spectral norm. With rank = n the inner
// products equal the Gram matrix to rounding. The features are kernel principal components, not
// centred. Each u_k has its largest element positive; features of equal eigenvalues are unique up
// to a rotation.
//
// The points are copied. Building costs n Gram rows and O(n³), in float64.
//
// Spectral returns an error for a nil k, parameters of k out of range, no points or too many for
// memory, a value of k that is not finite, a Gram matrix that has an eigenvalue below −Tolerance,
// so that k is not a kernel, eigenvalues that did not converge, a rank below 1, and one above the
// number of eigenvalues above Tolerance.
func Spectral[T dense.Float](k kernels.Kernel, x dense.Matrix[T], rank int) (Embedding[T], error) {
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
	return door.Choose[T, Embedding[T]](make32, make64, r)
}

func fitSpectral(k kernels.Kernel, points dense.Matrix[float64], rank int) (r embeddingRecipe, _ error) {
	gram, err := gramOf(k, "x", points)
	if err != nil {
		return r, err
	}
	s, err := decompose(gram)
	if err != nil {
		return r, err
	}
	if rank > s.rank {
		return r, fmt.Errorf("rff: rank = %d is more than the numerical rank %d of the %d×%d Gram matrix of x", rank, s.rank, points.Rows, points.Rows)
	}
	return embeddingRecipe{"Spectral", k, points, s.times(rank, inverseRoot), s.times(rank, squareRoot), s.tolerance, rank}, nil
}

// embeddingRecipe is φ(x) = Cᵀ·[k(x, p_1) …]ᵀ for the rows p of Points and C, which is
// Coefficients, as a file stores it. Features are φ of the points. Features of Nystroem are in the
// order of the caller's landmarks, Points in the order P, in which C is upper triangular.
type embeddingRecipe struct {
	Name                           string // Nystroem or Spectral
	K                              kernels.Kernel
	Points, Coefficients, Features dense.Matrix[float64]
	Tolerance                      float64
	Rank                           int
}

// embedding is the map of Nystroem and Spectral.
type embedding[T dense.Float] struct {
	blockwise[T, embeddingSpace]
	points       kernels.Fixed
	coefficients []columns
	features     dense.Matrix[float64] // φ of the points
	tolerance    float64
	rank         int
}

// columns are some columns of the coefficients, of which first is the first, without the last rows
// that are zero.
type columns struct {
	first  int
	packed matmul.Packed[float64]
}

// columnsAtOnce is the number of columns in a product. With more, a triangle has more zeros that
// are multiplied.
const columnsAtOnce = 64

// embeddingSpace holds a block of points, of their kernel values and of features.
type embeddingSpace struct{ x, gram, phi []float64 }

// newEmbedding prepares both factors of a map: the points and the coefficients.
func newEmbedding[T dense.Float](s embeddingRecipe) (Map[T], error) {
	points, c, features := s.Points, s.Coefficients, s.Features
	if points.Rows < 1 || points.Cols < 1 || c.Cols < 1 || c.Rows != points.Rows || features.Rows != points.Rows || features.Cols != c.Cols {
		return nil, fmt.Errorf("rff: points are %d×%d, coefficients %d×%d, features %d×%d, want as many rows and at least one feature",
			points.Rows, points.Cols, c.Rows, c.Cols, features.Rows, features.Cols)
	}
	if err := cmp.Or(argument.Kernel("rff: k", s.K), pointsFit(s.K, points.Cols), argument.Finite("rff: points", points), argument.Finite("rff: coefficients", c)); err != nil {
		return nil, err
	}
	prepared, err := kernels.Against(s.K, points)
	if err != nil {
		return nil, fmt.Errorf("rff: k is out of range: %w", err)
	}
	e := &embedding[T]{points: prepared, features: features, tolerance: s.Tolerance, rank: s.Rank}
	e.frame = frame{name: fmt.Sprintf("%s(%v)", s.Name, s.K), in: points.Cols, out: features.Cols, kernel: s.K, recipe: s}
	e.rows, e.transform = blockRows, e.block
	e.coefficients = make([]columns, 0, (c.Cols+columnsAtOnce-1)/columnsAtOnce)
	for first := 0; first < c.Cols; first += columnsAtOnce {
		part := c.ColRange(first, min(first+columnsAtOnce, c.Cols))
		for part.Rows > 1 && isZero(part.Row(part.Rows-1)) {
			part = part.RowRange(0, part.Rows-1)
		}
		e.coefficients = append(e.coefficients, columns{first: first})
		matmul.Pack(&e.coefficients[len(e.coefficients)-1].packed, part)
	}
	return e, nil
}

func isZero(x []float64) bool { return !slices.ContainsFunc(x, func(v float64) bool { return v != 0 }) }

// block writes φ of a block of points.
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

func (e *embedding[T]) Points() dense.Matrix[T] {
	return dense.Copy(dense.Matrix[T]{}, e.features)
}

func (e *embedding[T]) Rank() int { return e.rank }

func (e *embedding[T]) Tolerance() float64 { return e.tolerance }

// pointsOf returns a copy of the points x, which the caller calls name, for k.
func pointsOf[T dense.Float](name string, k kernels.Kernel, x dense.Matrix[T]) (none dense.Matrix[float64], _ error) {
	if err := argument.Kernel("rff: k", k); err != nil {
		return none, err
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

// gramOf returns the Gram matrix of k at the points.
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

// spectrum is the eigendecomposition of the Gram matrix of some points, eigenvalues in descending
// order.
type spectrum struct {
	values    []float64
	vectors   dense.Matrix[float64] // column k belongs to values[k]
	tolerance float64               // n·ε·|λ|_max: an eigenvalue within it counts as zero
	rank      int                   // eigenvalues above the tolerance
}

// decompose returns the spectrum of the Gram matrix of the points x.
func decompose(gram dense.Matrix[float64]) (spectrum, error) {
	n := gram.Rows
	var eig mat.EigenSym
	if !eig.Factorize(mat.NewSymDense(n, gram.Data), true) {
		return spectrum{}, fmt.Errorf("rff: the eigendecomposition of the %d×%d Gram matrix of x did not converge", n, n)
	}
	s := spectrum{values: eig.Values(nil)}
	slices.Reverse(s.values)
	s.tolerance = float64(n) * 0x1p-52 * max(math.Abs(s.values[0]), math.Abs(s.values[n-1]))
	if last := s.values[n-1]; last < -s.tolerance {
		return spectrum{}, fmt.Errorf("rff: the %d×%d Gram matrix of x is not positive semi-definite: eigenvalue %.3g is below −%.3g", n, n, last, s.tolerance)
	}
	for s.rank < n && s.values[s.rank] > s.tolerance {
		s.rank++
	}
	var vectors mat.Dense
	eig.VectorsTo(&vectors)
	s.vectors = ordered(gonum.FromMat[float64](&vectors))
	return s, nil
}

// ordered returns the columns of u in reverse order, upright.
func ordered(u dense.Matrix[float64]) dense.Matrix[float64] {
	n := u.Rows
	v := dense.New[float64](n, n)
	for i := range n {
		copy(v.Row(i), u.Row(i))
		slices.Reverse(v.Row(i))
	}
	return upright(v)
}

// upright gives each column of u the sign that makes its element of largest absolute value (the
// first of them) positive, and returns u: an eigenvector is unique up to its sign.
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

// times returns the first r columns of the vectors, column k multiplied by f(λ_k).
func (s spectrum) times(r int, f func(lambda float64) float64) dense.Matrix[float64] {
	u := s.vectors.ColRange(0, r).Clone()
	for k := range r {
		by := f(s.values[k])
		for i := range u.Rows {
			u.Data[i*u.Stride+k] *= by
		}
	}
	return u
}

func squareRoot(lambda float64) float64 { return math.Sqrt(lambda) }

func inverseRoot(lambda float64) float64 { return 1 / math.Sqrt(lambda) }
