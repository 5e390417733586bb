package rff

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/draw"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// Maclaurin returns the random Maclaurin features of the dot-product kernel Σ a_n·(xᵀy)ⁿ of k [Kar
// & Karnick 2012],
//
//	φ_j(x) = √(a_n/(p_n·m)) · Π_{t≤n} w_jtᵀx,  n = n_j with probability p_n,
//
// R^d → R^m, where degrees is p_0, p_1, …, up to a common factor, one number for each coefficient
// of k. GeometricDegrees and RadiusDegrees are two choices. Degrees are drawn from src, and so are
// the coordinates of the vectors w, which have the given law. Complex laws make m/2 complex
// features, as for PolynomialSketch. Features are sorted by descending degree.
//
// It is unbiased. Let s, N and Q be as for PolynomialSketch, for x and y in place of x̃ and ỹ, and
// M_n the second moment of a feature of degree n with a_n = p_n. The mean squared error is (Σ
// a_n²/p_n·M_n − k(x, y)²)/m, and twice that for complex laws:
//
//	law                       M_n
//	RademacherWeights         (N + 2s² − 2Q)ⁿ
//	GaussianWeights           (N + 2s²)ⁿ
//	ComplexRademacherWeights  ((N + s² − Q)ⁿ + (2s² − Q)ⁿ)/2
//	ComplexGaussianWeights    ((N + s²)ⁿ + (2s²)ⁿ)/2
//
// Transform takes a matrix product for each factor, O(n·d·Σ_j n_j), so its cost grows with the mean
// degree.
//
// Maclaurin returns an error for an m or d below 1, or too large for memory, parameters of k out of
// range, degrees of another length, a degree that is negative or not finite, a degree that is 0 for
// a positive coefficient, a factor that is out of the range of T, an unknown law, an odd m for a
// complex law, and a nil src.
func Maclaurin[T dense.Float](m, d int, k kernels.Maclaurin, degrees []float64, law WeightLaw, src rand.Source) (Map[T], error) {
	return build[Map[T]](maclaurinDraw[T]{m, d, k, degrees, law, src})
}

// maclaurinDraw has the arguments of Maclaurin.
type maclaurinDraw[T dense.Float] struct {
	m, d    int
	k       kernels.Maclaurin
	degrees []float64
	law     WeightLaw
	src     rand.Source
}

func drawMaclaurin[T dense.Float](a maclaurinDraw[T]) (Map[T], error) {
	m, d, k, degrees, law, src := a.m, a.d, a.k, a.degrees, a.law, a.src
	if err := sketchable[T](m, d, k, src); err != nil {
		return nil, err
	}
	_, err := totalOf(degrees, k)
	if err := cmp.Or(err, law.validate(m)); err != nil {
		return nil, err
	}
	parts := law.parts()
	count := m / parts
	drawn := drawDegrees(count, degrees, src)
	factors := 0
	for _, n := range drawn {
		factors += n
	}
	if err := limit.Memory[T](factors, parts, d); err != nil {
		return nil, fmt.Errorf("rff: m = %d, d = %d, degrees that add up to %d: %w", m, d, factors, err)
	}
	r := maclaurinRecipe[T]{
		K: kernels.Maclaurin{Coefficients: slices.Clone(k.Coefficients)}, Degrees: slices.Clone(degrees), Law: law, D: d, Drawn: drawn,
	}
	// The factors are refused before they are drawn.
	if _, err := maclaurinGains(r); err != nil {
		return nil, err
	}
	for t := range drawn[0] {
		w, err := orf.FromMatrix(drawWeights[T](law, above(drawn, t), d, src))
		if err != nil {
			return nil, err
		}
		r.W = append(r.W, w)
	}
	return newMaclaurin(r)
}

// maclaurinRecipe holds the parts of Maclaurin that a file stores.
type maclaurinRecipe[T dense.Float] struct {
	K       kernels.Maclaurin
	Degrees []float64
	Law     WeightLaw
	D       int
	Drawn   []int               // n_j, in descending order
	W       []orf.Projection[T] // for the features of degree above 0, 1, …: real parts, then imaginary parts
}

func newMaclaurin[T dense.Float](r maclaurinRecipe[T]) (Map[T], error) {
	k, degrees, law, d, drawn := r.K, r.Degrees, r.Law, r.D, r.Drawn
	parts := law.parts()
	m := len(drawn) * parts
	if err := cmp.Or(size[T]("m", m), size[T]("d", d), argument.Kernel("rff: k", k), law.validate(m), checkMaclaurin(r)); err != nil {
		return nil, err
	}
	total, err := totalOf(degrees, k)
	if err != nil {
		return nil, err
	}
	probabilities := floats.ScaleTo(make([]float64, len(degrees)), 1/total, degrees)
	f := newSketch[T](frame{
		name: fmt.Sprintf("Maclaurin(%v, %v)", k, law), kernel: k, in: d, out: m, recipe: r,
		law: mse.OfSketch("Maclaurin", "Kar & Karnick 2012", 1, m, mse.Maclaurin(k.Coefficients, probabilities, law.signs(), law.complex())),
	}, parts)
	if f.gains, err = maclaurinGains(r); err != nil {
		return nil, err
	}
	for _, w := range r.W {
		f.factors = append(f.factors, orf.Transposed(w))
	}
	return f, nil
}

// checkMaclaurin reports degrees that are not sorted or have no coefficient, and projections that
// do not fit.
func checkMaclaurin[T dense.Float](r maclaurinRecipe[T]) error {
	last := len(r.K.Coefficients) - 1
	for _, n := range r.Drawn {
		if n < 0 || n > last {
			return fmt.Errorf("rff: a feature of degree %d, want 0 to %d, in descending order", n, last)
		}
		last = n
	}
	if len(r.W) != r.Drawn[0] {
		return fmt.Errorf("rff: %d projections w, want %d", len(r.W), r.Drawn[0])
	}
	for t, w := range r.W {
		if w == nil {
			return fmt.Errorf("rff: w[%d] is nil, want a projection", t)
		}
		if rows, cols := w.Shape(); rows != above(r.Drawn, t)*r.Law.parts() || cols != r.D {
			return fmt.Errorf("rff: w[%d] is %d×%d, want %d×%d", t, rows, cols, above(r.Drawn, t)*r.Law.parts(), r.D)
		}
	}
	return nil
}

// above returns the number of degrees above t. They come first.
func above(degrees []int, t int) int {
	n, _ := slices.BinarySearchFunc(degrees, t, func(degree, t int) int {
		if degree > t {
			return -1
		}
		return 1
	})
	return n
}

// maclaurinGains returns √(a_n/(p_n·m)) of each feature.
func maclaurinGains[T dense.Float](r maclaurinRecipe[T]) ([]T, error) {
	total, err := totalOf(r.Degrees, r.K)
	if err != nil {
		return nil, err
	}
	gains := make([]T, 0, len(r.Drawn)*r.Law.parts())
	for _, n := range r.Drawn {
		gain := math.Sqrt(r.K.Coefficients[n] / (r.Degrees[n] / total) / float64(len(r.Drawn)))
		// A feature of a coefficient that is 0 is 0.
		if r.K.Coefficients[n] > 0 {
			if _, err := inRange[T](fmt.Sprintf("degrees[%d]", n), r.Degrees[n], gain); err != nil {
				return nil, err
			}
		}
		gains = append(gains, T(gain))
	}
	return slices.Repeat(gains, r.Law.parts()), nil
}

// GeometricDegrees returns the law of the degrees that is proportional to 2^(−n) where k has a
// positive coefficient and 0 elsewhere [Kar & Karnick 2012]. For kernels whose coefficients are all
// positive the mean degree is about 1, and the cost is proportional to it.
func GeometricDegrees(k kernels.Maclaurin) []float64 {
	p := make([]float64, len(k.Coefficients))
	for n, a := range k.Coefficients {
		if a > 0 {
			p[n] = math.Ldexp(1, -n)
		}
	}
	return p
}

// RadiusDegrees returns the law of the degrees that is proportional to a_n·R^(2n), where R is
// radius. This is the part of degree n in k(x, x) at ‖x‖ = R. All features have the same size on
// average there.
//
// RadiusDegrees returns an error for parameters of k out of range, a radius that is not a positive
// finite number, and one that takes a degree of a positive coefficient out of the range of float64.
func RadiusDegrees(k kernels.Maclaurin, radius float64) ([]float64, error) {
	if err := cmp.Or(argument.Kernel("rff: k", k), positive("radius", radius)); err != nil {
		return nil, err
	}
	p := make([]float64, len(k.Coefficients))
	for n, a := range k.Coefficients {
		if a == 0 {
			continue
		}
		p[n] = a * math.Pow(radius, 2*float64(n))
		if p[n] == 0 || math.IsInf(p[n], 1) {
			return nil, fmt.Errorf("rff: radius = %v makes the part of degree %d %v, want a positive finite number", radius, n, p[n])
		}
	}
	return p, nil
}

// totalOf returns the sum of the degrees, after checking them.
func totalOf(degrees []float64, k kernels.Maclaurin) (float64, error) {
	if len(degrees) != len(k.Coefficients) {
		return 0, fmt.Errorf("rff: %d degrees, want %d, one for each coefficient", len(degrees), len(k.Coefficients))
	}
	var total float64
	for n, p := range degrees {
		switch {
		case !(p >= 0) || math.IsInf(p, 1):
			return 0, fmt.Errorf("rff: degrees[%d] = %v, want a finite number, at least 0", n, p)
		case p == 0 && k.Coefficients[n] > 0:
			return 0, fmt.Errorf("rff: degrees[%d] = 0, want a positive number for the coefficient %v", n, k.Coefficients[n])
		}
		total += p
	}
	if math.IsInf(total, 1) {
		return 0, fmt.Errorf("rff: the sum of degrees is %v, want a finite number", total)
	}
	return total, nil
}

// drawDegrees returns n degrees in descending order.
func drawDegrees(n int, degrees []float64, src rand.Source) []int {
	rng := rand.New(src)
	drawn := make([]int, n)
	for j := range drawn {
		drawn[j] = draw.Proportional(degrees, rng)
	}
	slices.SortFunc(drawn, func(a, b int) int { return b - a })
	return drawn
}
