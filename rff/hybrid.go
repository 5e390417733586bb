package rff

import (
	"cmp"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// SoftmaxHybrid returns features of the softmax kernel exp(s·xᵀy), s = scale, with small errors
// both where the kernel is small and where it is large [Choromanski et al. 2022]. Their estimate is
//
//	λ·S₁ + (1−λ)·S₂,  λ = ½ − Σ_j sign(τ_jᵀx)·sign(τ_jᵀy)/(2n),
//
// S₁ is the estimate of SoftmaxHyperbolic and S₂ the estimate of SoftmaxTrig, both with the m
// frequencies of w. λ estimates θ/π, where θ is the angle between x and y, from the n rows τ of
// gate. S₁ is exact for y = −x and S₂ for y = x, and the estimate is exact for both. With the
// features h of S₁ and t of S₂, the features are
//
//	φ(x) = 1/√2·[h(x), t(x), σ₁·h(x), σ₁·t(x) … σ_n·h(x), σ_n·t(x)],  σ_j = sign(τ_jᵀx)/√n,
//
// R^d → R^(4m(n+1)). The features of keys, by Keys, are the same with −σ_j·h(x). A small n is
// enough. sign is as in Angular. The features have both signs and overflow where the features of
// SoftmaxTrig do.
//
// The estimate is unbiased if the rows of w are each N(0, I), the rows of gate are isotropic, of
// any lengths, and w and gate are independent. Let V₁ and V₂ be the mean squared errors of S₁ and
// S₂ for one frequency, ℓ = θ/π and S = exp(s·xᵀy). With independent rows of w and of gate the mean
// squared error is
//
//	((ℓ² + ℓ(1−ℓ)/n)·V₁ + ((1−ℓ)² + ℓ(1−ℓ)/n)·V₂ + 2ℓ(1−ℓ)(1−1/n)·C)/m,
//	C = −S²·(1 − cos(s‖x‖² − s‖y‖²)).
//
// C is at most 0. Other frequencies for S₂ than for S₁ would make it 0.
//
// The derivatives are the derivatives of h and t, because signs are constant between jumps. A row
// costs projections on n + m frequencies, m exponentials, sines and cosines, and O(m·n).
//
// SoftmaxHybrid returns an error for a nil w or gate, two that differ in dimension, and a scale
// that is not a positive number in the range of T.
func SoftmaxHybrid[T dense.Float](w, gate orf.Projection[T], scale float64) (Map[T], error) {
	return build[Map[T]](softmaxHybridRecipe[T]{w, gate, scale})
}

// softmaxHybridRecipe holds the parts of SoftmaxHybrid that a file stores.
type softmaxHybridRecipe[T dense.Float] struct {
	W, Gate orf.Projection[T]
	Scale   float64
}

func newSoftmaxHybrid[T dense.Float](r softmaxHybridRecipe[T]) (Map[T], error) {
	w, gate, scale := r.W, r.Gate, r.Scale
	if _, err := newEngine(w, 1); err != nil {
		return nil, err
	}
	if gate == nil {
		return nil, fmt.Errorf("rff: gate is nil, want a projection")
	}
	m, d := w.Shape()
	n, dims := gate.Shape()
	if n < 1 || dims != d {
		return nil, fmt.Errorf("rff: gate is %d×%d, w is %d×%d, want rows of one dimension", n, dims, m, d)
	}
	if err := cmp.Or(limit.Memory[T](n), limit.Memory[T](4, m, n+1)); err != nil {
		return nil, fmt.Errorf("rff: gate is %d×%d, w is %d×%d, for 4·%d·(%d+1) features: %w", n, dims, m, d, m, n, err)
	}
	slope, err := root[T]("scale", scale)
	if err != nil {
		return nil, err
	}
	e := explicit[T](d, 4*m*(n+1))
	e.w, e.rows = &gated[T]{Transposer: orf.Transposed(w), gate: gate, m: m, n: n}, mse.RowsOf(w)
	law := mse.OfSoftmax("SoftmaxHybrid", "Choromanski et al. 2022", mse.Hybrid(n), scale)
	drawn, ok := gate.(orf.Drawn[T])
	if ok {
		_, ok = drawn.Ensemble().(orf.IID)
	}
	if !ok {
		law = mse.Law{} // the law needs independent signs
	}
	name := fmt.Sprintf("SoftmaxHybrid(gates=%d, scale=%v)", n, scale)
	side := func(name string, negative T) Map[T] {
		h := hybrid[T]{m: m, n: n, r: slope, scale: scale, sign: negative, norm: T(1 / math.Sqrt(float64(n)))}
		return &features[T]{
			engine: e,
			frame:  e.named(name, kernels.Softmax{Gamma: scale}, mse.Law{}),
			row:    h.row,
			back:   throughZ(e, m+n+8*m, h.slope, radial[T]),
		}
	}
	law = law.Over(e.rows)
	return join(side(name, 1), side("keys of "+name, -1), kernels.Softmax{Gamma: scale}, law, law, r), nil
}

// gated projects on m frequencies and then on the n rows of a gate. No gradient passes through the
// gate.
type gated[T dense.Float] struct {
	orf.Transposer[T]
	gate orf.Projection[T]
	m, n int
}

func (p *gated[T]) Shape() (m, d int) {
	_, d = p.gate.Shape()
	return p.m + p.n, d
}

func (p *gated[T]) Project(dst, x dense.Matrix[T]) dense.Matrix[T] {
	p.Transposer.Project(dst.ColRange(0, p.m), x)
	p.gate.Project(dst.ColRange(p.m, p.m+p.n), x)
	return dst
}

func (p *gated[T]) ProjectTransposed(dst, z dense.Matrix[T]) dense.Matrix[T] {
	return p.Transposer.ProjectTransposed(dst, z.ColRange(0, p.m))
}

// hybrid computes features in n + 1 blocks of 4m. The first block has the features of S₁ and S₂
// times 1/√2. The others multiply it by σ_j, and the features of S₁ by sign as well.
type hybrid[T dense.Float] struct {
	m, n          int
	r, sign, norm T
	scale         float64
}

// row finds the projections wᵀx and τᵀx at the beginning of φ. It writes the blocks from the last
// to the first, so that no block overwrites a τᵀx that is still needed.
func (h hybrid[T]) row(phi, x []T, _, _ int) {
	m, size := h.m, 4*h.m
	base := phi[h.n*size:]
	signs := phi[m : m+h.n]
	vecmath.Sign(signs, h.norm)
	last := signs[h.n-1]
	h.base(base, phi[:m], x)
	for j := h.n - 1; j >= 1; j-- {
		sign, block := signs[j-1], phi[j*size:(j+1)*size]
		copy(block, base)
		h.turn(block, sign)
	}
	copy(phi[:size], base)
	h.turn(base, last)
}

// base writes the features of S₁ and S₂ times 1/√2 for the projections t.
func (h hybrid[T]) base(base, t, x []T) {
	m := h.m
	half := vecmath.HalfSquaredNorm(x)
	plus, minus, cosines, sines := base[:m], base[m:2*m], base[2*m:3*m], base[3*m:]
	c := T(-h.scale*half - math.Log(float64(4*m))/2)
	vecmath.Affine(plus, t, h.r, c)
	vecmath.Affine(minus, t, -h.r, c)
	vecmath.Exp(base[:2*m], base[:2*m])
	vecmath.Affine(cosines, t, h.r, 0)
	vecmath.Sincos(sines, cosines, cosines)
	vecmath.Scale(base[2*m:], T(math.Exp(h.scale*half)/math.Sqrt(float64(2*m))))
}

// turn gives a block its sign.
func (h hybrid[T]) turn(block []T, sign T) {
	vecmath.Scale(block[:2*h.m], h.sign*sign)
	vecmath.Scale(block[2*h.m:], sign)
}

// slope is the derivative. z holds the projections, space for base, and space for the sum of g over
// the blocks with their signs.
func (h hybrid[T]) slope(z, x, g []T) (a, b T) {
	m, size := h.m, 4*h.m
	t, signs, base, sum := z[:m], z[m:m+h.n], z[m+h.n:m+h.n+size], z[m+h.n+size:]
	vecmath.Sign(signs, h.norm)
	h.base(base, t, x)
	copy(sum, g[:size])
	for j, sign := range signs {
		block := g[(j+1)*size : (j+2)*size]
		vecmath.AddScaled(sum[:2*m], block[:2*m], h.sign*sign)
		vecmath.AddScaled(sum[2*m:], block[2*m:], sign)
	}
	along := vecmath.Dot(base[2*m:], sum[2*m:]) - vecmath.Dot(base[:2*m], sum[:2*m])
	unwave(base[2*m:], sum[2*m:])
	vecmath.Multiply(base[:2*m], sum[:2*m])
	copy(t, base[:m])
	vecmath.AddScaled(t, base[m:2*m], -1)
	vecmath.AddScaled(t, base[2*m:3*m], 1)
	return h.r, T(h.scale) * along
}
