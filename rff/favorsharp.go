package rff

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/orf"
)

// SADERF has the features of SoftmaxOptimal at ψ∘x for queries x and at y/ψ for keys y, with a
// factor ψ_l (Psi) for each coordinate: simplified asymmetric dense-exponential random features,
// one of the three FAVOR# maps [Likhosherstov et al. 2023]. FitSADERF fits Psi and the damping A to
// samples of queries and keys. For a SADERF, Draw returns the map of queries, whose method Keys
// returns the map of keys; both are LogMaps.
//
// Estimates of the kernel by SADERF are unbiased for any factors Psi except 0, if the frequencies
// are from N(0, I). The mean squared error of SADERF is that of SoftmaxOptimal with equal Scale and
// A at ψ∘x and y/ψ. SADERF keeps the structure, and so the speed, of structured frequencies.
type SADERF struct {
	Scale float64   // s, above 0
	A     float64   // a, below 1/8
	Psi   []float64 // ψ, of length d
}

func (SADERF) perFrequency() int { return 1 }
func (s SADERF) String() string  { return fmt.Sprintf("SADERF(scale=%v, a=%v)", s.Scale, s.A) }

// FitSADERF returns the SADERF for the softmax kernel exp(s·xᵀy), s = scale, queries like the rows
// of x (n×d) and keys like the rows of y (n'×d). FitSADERF sets Psi to ψ_l = (E[y_l²]/E[x_l²])^¼
// for queries x and keys y, or to 1 for a coordinate that is zero in all rows of x or of y.
// FitSADERF sets A to the number that minimises the mean logarithm, over pairs of a query and a
// key, of the second moment of the kernel estimate by one frequency.
//
// The samples x and y of FitSADERF should resemble later queries and keys, because estimates for an
// unlike query have a large variance. For n queries and n' keys of R^d, FitSADERF takes
// O((n+n')·d²) operations. FitSADERF returns an error for samples without rows or of different
// dimensions, a scale that is not positive and finite, and moments that overflow.
func FitSADERF[T dense.Float](x, y dense.Matrix[T], scale float64) (SADERF, error) {
	f, err := newFit(x, y, scale)
	if err != nil {
		return SADERF{}, err
	}
	psi, squares := f.balance()
	return SADERF{Scale: scale, A: f.damping(squares), Psi: psi}, nil
}

func saderf[T dense.Float](s SADERF, e engine[T]) (Map[T], error) {
	s.Psi = slices.Clone(s.Psi)
	if err := each("psi", s.Psi, e.in); err != nil {
		return nil, err
	}
	inverse := make([]float64, e.in)
	for l, v := range s.Psi {
		inverse[l] = 1 / v
		for _, factor := range []float64{v, inverse[l]} {
			if _, err := inRange[T](fmt.Sprintf("ψ_%d", l), v, factor); err != nil {
				return nil, err
			}
		}
	}
	e.recipe.Spec = s
	return balanced(s.Scale, s.A, Affine{Factors: s.Psi}, Affine{Factors: inverse}, e)
}

// ADERF has the features of SoftmaxOptimal at Ψx for queries x and at Ψ^(−ᵀ)y for keys y, with a
// matrix Ψ (Query) in place of factors ψ of SADERF: asymmetric dense-exponential random features
// [Likhosherstov et al. 2023]. FitADERF scales queries and keys to equal sizes along all
// directions, FitSADERF along coordinate axes. Estimates of the kernel by ADERF with frequencies
// from N(0, I) are unbiased for any invertible Ψ, except for rounding, which changes xᵀy in the
// kernel by about κ·u·‖x‖‖y‖ for the condition number κ of Ψ and u = 2⁻⁵³ (2⁻²⁴ in float32). For n
// points of R^d, Transform of ADERF costs O(n·d²) more than SADERF, for products with a d×d matrix.
type ADERF struct {
	Scale      float64               // s, above 0
	A          float64               // a, below 1/8
	Query, Key dense.Matrix[float64] // Ψ and Ψ^(−ᵀ), d×d
}

func (ADERF) perFrequency() int { return 1 }
func (s ADERF) String() string  { return fmt.Sprintf("ADERF(scale=%v, a=%v)", s.Scale, s.A) }

// FitADERF returns the ADERF for the softmax kernel exp(s·xᵀy), s = scale, queries like the rows of
// x (n×d) and keys like the rows of y (n'×d). The matrix Ψ of FitADERF makes the second moments of
// Ψx and Ψ^(−ᵀ)y equal and diagonal: with M_x = E[xxᵀ], M_y = E[yyᵀ] and the singular value
// decomposition M_x^½·M_y^½ = UΣVᵀ, Ψ = Σ^½·Uᵀ·M_x^(−½).
//
// FitADERF replaces the second moments M of n points of R^d by (1−r)·M + r·tr(M)/d·I with r =
// (d/(n+d))², at least 2⁻²⁰. For n queries and n' keys of R^d, FitADERF takes O((n+n')·d² + d³)
// operations. FitADERF returns the errors of FitSADERF, and one if eigenvalues do not converge.
func FitADERF[T dense.Float](x, y dense.Matrix[T], scale float64) (ADERF, error) {
	f, err := newFit(x, y, scale)
	if err != nil {
		return ADERF{}, err
	}
	query, key, squares, err := f.mix()
	if err != nil {
		return ADERF{}, err
	}
	return ADERF{Scale: scale, A: f.damping(squares), Query: gonum.FromMat[float64](query), Key: gonum.FromMat[float64](key)}, nil
}

func aderf[T dense.Float](s ADERF, e engine[T]) (Map[T], error) {
	if err := cmp.Or(square("query", s.Query, e.in), square("key", s.Key, e.in)); err != nil {
		return nil, err
	}
	s.Query, s.Key = s.Query.Clone(), s.Key.Clone()
	e.recipe.Spec = s
	return balanced(s.Scale, s.A, Affine{A: s.Query}, Affine{A: s.Key}, e)
}

// SDERF has positive features of the softmax kernel exp(s·xᵀy), s = Scale, that damp long
// frequencies by a number for each direction: symmetric dense-exponential random features, one of
// the three FAVOR# maps [Likhosherstov et al. 2023]:
//
//	φ(x) = D·exp(−s‖x‖²/2)/√m · [exp(w₁ᵀAw₁ + √s·w₁ᵀBx) … exp(w_mᵀAw_m + √s·w_mᵀBx)],
//	A = diag(a_1 … a_d), B = (I−4A)^½·Qᵀ, D = det(I−4A)^¼,  R^d → R^m.
//
// FitSDERF fits the diagonal matrix A (Damping) and the orthogonal matrix Q (Basis) of a SDERF to
// samples. The map of SDERF is a LogMap for both queries and keys. Estimates of the kernel by SDERF
// are unbiased for any Damping and any orthogonal Basis, if the frequencies are from N(0, I);
// validate.Theory has the mean squared error over orf.IID. For n points of R^d and m frequencies,
// Transform of SDERF takes O(n·m·d) operations, even over structured frequencies, and Draw O(m·d²).
type SDERF struct {
	Scale   float64               // s, above 0
	Damping []float64             // the diagonal of A, each below 1/8
	Basis   dense.Matrix[float64] // Q, d×d
}

func (SDERF) perFrequency() int { return 1 }
func (s SDERF) String() string  { return fmt.Sprintf("SDERF(scale=%v)", s.Scale) }

// FitSDERF returns the SDERF for the softmax kernel exp(s·xᵀy), s = scale, queries like the rows of
// x (n×d) and keys like the rows of y (n'×d). With the eigendecomposition scale·E[(x+y)(x+y)ᵀ] =
// QΛQᵀ over pairs of a query x and a key y, FitSDERF sets Basis to Q and element l of Damping to (1
// − 2φ − √((2φ+1)² + 8φ))/16 with φ = Λ_ll. If all eigenvalues of E[(x+y)(x+y)ᵀ] are equal, the map
// of FitSDERF is SoftmaxOptimal, with the A of OptimalA, at rotated points. FitSDERF takes
// O((n+n')·d² + d³) operations for n queries and n' keys of R^d. FitSDERF returns an error if
// FitADERF would return one.
func FitSDERF[T dense.Float](x, y dense.Matrix[T], scale float64) (SDERF, error) {
	f, err := newFit(x, y, scale)
	if err != nil {
		return SDERF{}, err
	}
	damping, q, err := f.axes()
	if err != nil {
		return SDERF{}, err
	}
	return SDERF{Scale: scale, Damping: damping, Basis: gonum.FromMat[float64](q)}, nil
}

func sderf[T dense.Float](s SDERF, e engine[T]) (Map[T], error) {
	slope, err := root[T]("scale", s.Scale)
	if err := cmp.Or(err, each("damping", s.Damping, e.in), square("basis", s.Basis, e.in)); err != nil {
		return nil, err
	}
	for _, a := range s.Damping {
		if err := dampable(a); err != nil {
			return nil, err
		}
	}
	if e.recipe.fresh {
		s.Damping, s.Basis = slices.Clone(s.Damping), s.Basis.Clone()
		turned, offsets, err := damped(s, e.w)
		if err != nil {
			return nil, err
		}
		return draw(drawn[T]{Spec: s, W: turned, Ensemble: e.rows.Ensemble, Offsets: offsets})
	}
	if err := each("offsets", e.recipe.Offsets, e.out); err != nil {
		return nil, err
	}
	e.rows.Ensemble = e.recipe.Ensemble
	return exponential(e, exponent[T]{slope: slope, scale: s.Scale, offsets: e.recipe.Offsets}, mse.Damped(s.Damping, s.Basis), "Likhosherstov et al. 2023"), nil
}

// damped returns W·(I−4A)^½·Qᵀ and w_kᵀAw_k + ¼·log det(I−4A) − ½·log m.
func damped[T dense.Float](s SDERF, w orf.Projection[T]) (orf.Projection[T], []T, error) {
	m, _ := w.Shape()
	constant := -math.Log(float64(m)) / 2
	for _, a := range s.Damping {
		constant += math.Log1p(-4*a) / 4
	}
	given, err := frequenciesOf(w)
	if err != nil {
		return nil, nil, err
	}
	frequencies := gonum.ToMat(given)
	offsets := make([]T, m)
	for k := range offsets {
		row := frequencies.RawRowView(k)
		offset := constant
		for l, a := range s.Damping {
			offset += a * row[l] * row[l]
			row[l] *= math.Sqrt(1 - 4*a)
		}
		offsets[k] = T(offset)
		if math.IsInf(float64(offsets[k]), 0) {
			return nil, nil, fmt.Errorf("rff: the samples give a feature of logarithm %v, outside the range of %T", offset, offsets[k])
		}
	}
	var product mat.Dense
	product.Mul(frequencies, gonum.ToMat(s.Basis).T())
	turned, err := inRangeOf[T]("W·B", gonum.FromMat[float64](&product))
	if err != nil {
		return nil, nil, err
	}
	p, err := orf.FromMatrix(turned)
	return p, offsets, err
}

// balanced returns the pair of SoftmaxOptimal at query·x and at key·y, and of the law for both.
func balanced[T dense.Float](scale, a float64, query, key Affine, e engine[T]) (Map[T], error) {
	inner, err := softmaxOptimal(scale, a, e)
	if err != nil {
		return nil, err
	}
	first, err := newAffine[T](query)
	if err != nil {
		return nil, fmt.Errorf("%w (query)", err)
	}
	other, err := newAffine[T](key)
	if err != nil {
		return nil, fmt.Errorf("%w (key)", err)
	}
	side := func(name string, at, other *affine[T]) complete[T] {
		c := newComposed[T](at, inner)
		c.name, c.kernel = name+inner.String(), inner.kernel
		c.law = mse.OfSoftmax("SoftmaxOptimal", "Likhosherstov et al. 2022", mse.Optimal(a).After(at.matrix(), other.matrix()), scale).Over(e.rows)
		return c
	}
	return join(side("", first, other), side("keys of ", other, first), inner.frame.recipe), nil
}
