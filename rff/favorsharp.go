package rff

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// SADERF returns positive features of the softmax kernel exp(s·xᵀy), s = scale: the features of
// SoftmaxOptimal for queries and keys with balanced coordinates. The name stands for simplified
// asymmetric dense-exponential random features, one of the three FAVOR# maps [Likhosherstov et al.
// 2023],
//
//	φ(x) = f(ψ∘x), ψ(y) = f(y/ψ),  f = SoftmaxOptimal with ψ_l = (E[y_l²]/E[x_l²])^¼,
//
// R^d → R^m, where (ψ∘x)ᵀ(y/ψ) = xᵀy. ψ and a minimise the mean logarithm of second moments over
// the samples of queries x and of keys y (n×d, n'×d). The samples are not kept. The result is the
// map of queries, and its Keys are the map of keys. Both have logarithms, as SoftmaxPositive. If
// queries and keys have equal second moments, ψ = 1 and both maps are SoftmaxOptimal with OptimalA.
//
// The estimate is unbiased for any samples, if the rows of w are each N(0, I). The mean squared
// error at (x, y) is the error of SoftmaxOptimal at (ψ∘x, y/ψ), for orthogonal rows too. Samples
// should be typical. ψ_l is large if x_l is small in the sample, and a query with a large x_l then
// has a large variance. If x_l or y_l is zero in the whole sample, ψ_l = 1.
//
// The cost is the cost of SoftmaxOptimal and O(n·d) for norms; the fit takes O((n+n')·d²).
// Frequencies that are a matrix are multiplied by ψ, which takes m·d numbers for either side.
// Structured frequencies stay as they are: points are scaled, 1024 at a time, in a workspace that
// is kept. Points are scaled too if a ψ_l is beyond 2^±60.
//
// SADERF returns an error for a nil w, a scale that is not a positive number in the range of T,
// samples without rows, not of the dimension of w, or whose second moments are not finite or too
// large for memory, frequencies that are too large for memory, and ψ_l or features outside the
// range of T.
func SADERF[T dense.Float](w orf.Projection[T], x, y dense.Matrix[T], scale float64) (LogMap[T], error) {
	return build[LogMap[T]](saderfSamples[T]{samples[T]{w, x, y, scale}})
}

// samples are the arguments of SADERF, ADERF and SDERF.
type samples[T dense.Float] struct {
	w     orf.Projection[T]
	x, y  dense.Matrix[T]
	scale float64
}

// saderfSamples is what SADERF is fitted to.
type saderfSamples[T dense.Float] struct{ samples[T] }

func fitSADERF[T dense.Float](s saderfSamples[T]) (Map[T], error) {
	f, err := newFit(s.samples)
	if err != nil {
		return nil, err
	}
	psi, squares := f.balance()
	return newSADERF(saderfRecipe[T]{softmaxOptimalRecipe[T]{W: s.w, Scale: s.scale, A: f.damping(squares)}, psi})
}

// saderfRecipe holds the fitted parts of SADERF that a file stores.
type saderfRecipe[T dense.Float] struct {
	softmaxOptimalRecipe[T]
	Psi []float64
}

func newSADERF[T dense.Float](r saderfRecipe[T]) (Map[T], error) {
	features, err := softmaxOptimal(r.softmaxOptimalRecipe)
	if err != nil {
		return nil, err
	}
	r.Offsets = features.exponent.offsets
	scale, a, d := r.Scale, r.A, features.frame.in
	if err := each("psi", r.Psi, d); err != nil {
		return nil, err
	}
	query, key := make([]T, d), make([]T, d)
	diagonal, inverse := dense.New[float64](d, d), dense.New[float64](d, d)
	for l, v := range r.Psi {
		argument := fmt.Sprintf("ψ_%d", l)
		if query[l], err = inRange[T](argument, v, v); err != nil {
			return nil, err
		}
		if key[l], err = inRange[T](argument, v, 1/v); err != nil {
			return nil, err
		}
		diagonal.Set(l, l, v)
		inverse.Set(l, l, 1/v)
	}
	name := fmt.Sprintf("SADERF(scale=%v, a=%v)", scale, a)
	return balancedPair(r, a, scale, diagonal, inverse,
		features.scaled(name, gonum.ToMat(diagonal), query), features.scaled("keys of "+name, gonum.ToMat(inverse), key)), nil
}

// ADERF is SADERF with a matrix Ψ in place of the factors ψ: asymmetric dense-exponential random
// features [Likhosherstov et al. 2023],
//
//	φ(x) = f(Ψx), ψ(y) = f(Ψ^(−ᵀ)y),  f = SoftmaxOptimal,
//
// R^d → R^m, where Ψ makes the second moments of Ψx and Ψ^(−ᵀ)y equal, and diagonal. So ADERF also
// balances queries and keys in directions that are not coordinate axes. With M_x = E[xxᵀ], M_y =
// E[yyᵀ] and the singular value decomposition M_x^½·M_y^½ = UΣVᵀ, Ψ = Σ^½·Uᵀ·M_x^(−½). The mean
// squared error at (x, y) is the error of SoftmaxOptimal at (Ψx, Ψ^(−ᵀ)y).
//
// A few points span few directions, and M is singular in the others. So ADERF replaces M of n
// points by (1−r)·M + r·tr(M)/d·I with r = (d/(n+d))², at least 2⁻²⁰, and both matrices by I if one
// is 0. The estimate is unbiased for any Ψ, except for rounding: Ψ has a condition number κ in the
// 2-norm of at most about √(d/r), and rounding changes xᵀy in the kernel by about κ·u·‖x‖‖y‖, u =
// 2⁻⁵³ or 2⁻²⁴.
//
// The cost is O(n·d²) for points Ψx or their norms, more than SADERF takes. The fit takes
// O((n+n')·d² + d³), and O(m·d²) where Ψ multiplies the frequencies. Errors are the errors of
// SADERF, elements of Ψ outside the range of T, and eigenvalues that did not converge. Everything
// else is as for SADERF.
func ADERF[T dense.Float](w orf.Projection[T], x, y dense.Matrix[T], scale float64) (LogMap[T], error) {
	return build[LogMap[T]](aderfSamples[T]{samples[T]{w, x, y, scale}})
}

// aderfSamples is what ADERF is fitted to.
type aderfSamples[T dense.Float] struct{ samples[T] }

func fitADERF[T dense.Float](s aderfSamples[T]) (Map[T], error) {
	f, err := newFit(s.samples)
	if err != nil {
		return nil, err
	}
	query, key, squares, err := f.mix()
	if err != nil {
		return nil, err
	}
	optimal := softmaxOptimalRecipe[T]{W: s.w, Scale: s.scale, A: f.damping(squares)}
	return newADERF(aderfRecipe[T]{optimal, gonum.FromMat[float64](query), gonum.FromMat[float64](key)})
}

// aderfRecipe holds the fitted parts of ADERF that a file stores: Ψ and Ψ^(−ᵀ).
type aderfRecipe[T dense.Float] struct {
	softmaxOptimalRecipe[T]
	Query, Key dense.Matrix[float64]
}

func newADERF[T dense.Float](r aderfRecipe[T]) (Map[T], error) {
	features, err := softmaxOptimal(r.softmaxOptimalRecipe)
	if err != nil {
		return nil, err
	}
	r.Offsets = features.exponent.offsets
	d := features.frame.in
	if err := cmp.Or(square("query", r.Query, d), square("key", r.Key, d)); err != nil {
		return nil, err
	}
	query, key := gonum.ToMat(r.Query), gonum.ToMat(r.Key)
	p, err := inRangeOf[T]("Ψ", query)
	if err != nil {
		return nil, err
	}
	q, err := inRangeOf[T]("Ψ^(−ᵀ)", key)
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("ADERF(scale=%v, a=%v)", r.Scale, r.A)
	return balancedPair(r, r.A, r.Scale, r.Query, r.Key,
		features.mixed(name, query, p), features.mixed("keys of "+name, key, q)), nil
}

// SDERF returns positive features of the softmax kernel exp(s·xᵀy), s = scale, with the best
// damping for each direction: symmetric dense-exponential random features, one of the three FAVOR#
// maps [Likhosherstov et al. 2023],
//
//	φ(x) = D·exp(−s‖x‖²/2)/√m · [exp(w₁ᵀAw₁ + √s·w₁ᵀBx) … exp(w_mᵀAw_m + √s·w_mᵀBx)],
//	A = diag(a_1 … a_d), B = (I−4A)^½·Qᵀ, D = det(I−4A)^¼,
//
// R^d → R^m, where s·E[(x+y)(x+y)ᵀ] = QΛQᵀ for x of the sample of queries and y of the sample of
// keys (n×d, n'×d), and a_l is the a of OptimalA for φ = Λ_l. The samples are not kept. One map
// serves queries and keys, with logarithms as SoftmaxPositive. If all Λ_l are equal, it is
// SoftmaxOptimal with OptimalA at rotated points.
//
// The estimate is unbiased for any samples, if the rows of w are each N(0, I). With independent
// rows the mean squared error is, for x and y times √s,
//
//	(Π_l (1−4a_l)·(1−8a_l)^(−½)·exp(2(1−4a_l)·(Qᵀ(x+y))_l²/(1−8a_l)) · exp(−‖x‖²−‖y‖²) − K²)/m.
//
// The frequencies are the rows of W·B. This matrix has no structure even if W has, and projecting
// takes O(n·m·d). The fit takes O((n+n')·d² + d³ + m·d²). SDERF returns the errors of SADERF, and
// an error if eigenvalues do not converge.
func SDERF[T dense.Float](w orf.Projection[T], x, y dense.Matrix[T], scale float64) (LogMap[T], error) {
	return build[LogMap[T]](sderfSamples[T]{samples[T]{w, x, y, scale}})
}

// sderfSamples is what SDERF is fitted to.
type sderfSamples[T dense.Float] struct{ samples[T] }

func fitSDERF[T dense.Float](s sderfSamples[T]) (Map[T], error) {
	f, err := newFit(s.samples)
	if err != nil {
		return nil, err
	}
	damping, q, err := f.axes()
	if err != nil {
		return nil, err
	}
	turned, offsets, err := damped(s.w, damping, q)
	if err != nil {
		return nil, err
	}
	return newSDERF(sderfRecipe[T]{turned, mse.RowsOf(s.w).Ensemble, s.scale, damping, gonum.FromMat[float64](q), offsets})
}

// sderfRecipe holds the fitted parts of SDERF that a file stores. The frequencies are those of W·B,
// Ensemble is the law of W, and Offsets are wᵀAw + log D − ½·log m of each row of W.
type sderfRecipe[T dense.Float] struct {
	W        orf.Projection[T]
	Ensemble orf.Ensemble
	Scale    float64
	Damping  []float64             // the diagonal of A
	Basis    dense.Matrix[float64] // Q
	Offsets  []T
}

func newSDERF[T dense.Float](r sderfRecipe[T]) (Map[T], error) {
	e, slope, err := newScaledEngine(r.W, 1, root[T], "scale", r.Scale)
	if err := cmp.Or(err, each("offsets", r.Offsets, e.out), each("damping", r.Damping, e.in), square("basis", r.Basis, e.in)); err != nil {
		return nil, err
	}
	for _, a := range r.Damping {
		if err := dampable(a); err != nil {
			return nil, err
		}
	}
	e.rows.Ensemble = r.Ensemble
	s := exponential(e, exponent[T]{slope: slope, radius: r.Scale, offsets: r.Offsets},
		r, fmt.Sprintf("SDERF(scale=%v)", r.Scale), kernels.Softmax{Gamma: r.Scale},
		mse.OfSoftmax("SDERF", "Likhosherstov et al. 2023", mse.Damped(r.Damping, r.Basis), r.Scale))
	return s, nil
}

// damped returns W·(I−4A)^½·Qᵀ and w_kᵀAw_k + ¼·log det(I−4A) − ½·log m for A = diag(damping).
func damped[T dense.Float](w orf.Projection[T], damping []float64, q *mat.Dense) (orf.Projection[T], []T, error) {
	m, _ := w.Shape()
	constant := -math.Log(float64(m)) / 2
	for _, a := range damping {
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
		for l, a := range damping {
			offset += a * row[l] * row[l]
			row[l] *= math.Sqrt(1 - 4*a)
		}
		offsets[k] = T(offset)
		if math.IsInf(float64(offsets[k]), 0) {
			return nil, nil, fmt.Errorf("rff: the samples give a feature of logarithm %v, outside the range of %T", offset, offsets[k])
		}
	}
	var product mat.Dense
	product.Mul(frequencies, q.T())
	turned, err := inRangeOf[T]("W·B", &product)
	if err != nil {
		return nil, nil, err
	}
	p, err := orf.FromMatrix(turned)
	return p, offsets, err
}

// balancedPair pairs the map f of queries and the map k of keys. Their estimate is the estimate of
// SoftmaxOptimal at query·x and key·y.
func balancedPair[T dense.Float](recipe any, a, scale float64, query, key dense.Matrix[float64], f, k *balanced[T]) Map[T] {
	law := func(query, key dense.Matrix[float64]) mse.Law {
		return mse.OfSoftmax("SoftmaxOptimal", "Likhosherstov et al. 2022", mse.Optimal(a).After(query, key), scale).Over(f.inner.rows)
	}
	return join(f, k, f.Kernel(), law(query, key), law(key, query), recipe)
}

// inRangeOf returns m in T, or an error that calls m name if an element is out of range.
func inRangeOf[T dense.Float](name string, m *mat.Dense) (dense.Matrix[T], error) {
	p := gonum.FromMat[T](m)
	for i := range p.Rows {
		for j, v := range p.Row(i) {
			if math.IsInf(float64(v), 0) {
				return p, fmt.Errorf("rff: element (%d, %d) of %s is %v, outside the range of %T", i, j, name, m.At(i, j), v)
			}
		}
	}
	return p, nil
}
