package main

import (
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/rff"
)

// page is a kernel with its maps.
type page struct {
	file, title, kernel, about string
	maps                       []mapping
}

// mapping is a map, with the formula of its error over each kind of frequencies that has a law.
type mapping struct {
	name, features, about string
	spec                  rff.Spec
	laws                  map[string]string
}

func source() rand.Source { return rand.NewPCG(1, 2) }

// damping is the a of the examples.
const damping = -0.04

// fitted returns the features that are fitted to samples.
func fitted[S rff.Spec](fit func(x, y dense.Matrix[float64], scale float64) (S, error)) rff.Spec {
	s, err := fit(samples(1), samples(2), 1)
	if err != nil {
		panic(err)
	}
	return s
}

// samples are 100 points whose first coordinates vary most.
func samples(seed uint64) dense.Matrix[float64] {
	rng := rand.New(rand.NewPCG(seed, 3))
	x := dense.New[float64](100, dim)
	for i := range x.Rows {
		for j := range x.Cols {
			x.Set(i, j, rng.NormFloat64()*(0.1+0.6/float64(j+1)))
		}
	}
	return x
}

// formulas of a mean of terms over independent, orthogonal and simplex rows.
func formulas(iid, haar, simplex string) map[string]string {
	return map[string]string{"IID": iid, "GramSchmidt": haar, "Simplex": simplex}
}

// waves are the laws of cos features whose terms have the variance v, with a factor in front.
func waves(factor, v string) map[string]string {
	return formulas(
		factor+v+"/m",
		factor+"["+v+" + n·(H(−q/2) − e^(−q))]/m",
		factor+"["+v+" + n·(½R(κ, −q/2) + ½R(−κ, −q/2) − e^(−q))]/m",
	)
}

// exponentials are the laws of exp features, with a factor in front.
func exponentials(factor, second string) map[string]string {
	return formulas(
		factor+"["+second+" − e^p]/m",
		factor+"["+second+" − e^p + n·(H(p/2) − e^p)]/m",
		factor+"["+second+" − e^p + n·(R(κ, p/2) − e^p)]/m",
	)
}

// evens are the laws of exp(±wᵀx) features, with a factor in front.
func evens(factor string) map[string]string {
	return formulas(
		factor+"½(e^p − 1)²/m",
		factor+"[½(e^p − 1)² + n·(H(p/2) − e^p)]/m",
		factor+"[½(e^p − 1)² + n·(½R(κ, p/2) + ½R(−κ, p/2) − e^p)]/m",
	)
}

// of returns laws over single ensembles.
func of(pairs ...string) map[string]string {
	laws := make(map[string]string)
	for i := 0; i < len(pairs); i += 2 {
		laws[pairs[i]] = pairs[i+1]
	}
	return laws
}

const (
	soft = "e^(−‖x‖²−‖y‖²)·"   // of exp features of the softmax kernel
	hard = "e^(−2‖x‖²−2‖y‖²)·" // of exp features of the Gaussian kernel
	back = "e^(‖x‖²+‖y‖²)·"    // of wave features of the softmax kernel

	wave = "½(1 − e^(−q))²"
	damp = "(1−4a)^d·(1−8a)^(−d/2)·e^(2(1−4a)p/(1−8a))"
)

// pages returns all pages.
func pages() []page {
	return []page{
		{"gaussian", "Gaussian kernel", "k(x, y) = exp(−‖x−y‖²/(2ℓ²)), here ℓ = 1: other length-scales divide the points by ℓ",
			"Features of waves (cos and sin) have small errors where points are close together. Features of exponentials have small errors where points are far apart. They are positive, as attention needs.", []mapping{
				{"Gaussian", "φ(x) = [cos(Wx/ℓ), sin(Wx/ℓ)]/√m", "The usual choice. The estimate is exact for y = x.", rff.Gaussian{LengthScale: 1}, waves("", wave)},
				{"GaussianHyperbolic", "φ(x) = [exp(Wx/ℓ − ‖x‖²/ℓ²), exp(−Wx/ℓ − ‖x‖²/ℓ²)]/√(2m)", "Positive features. The estimate is exact for y = −x.", rff.GaussianHyperbolic{LengthScale: 1}, evens(hard)},
				{"GaussianOptimal", "φ(x) = (1−4a)^(d/4)·exp(a‖w‖² + √(1−4a)·wᵀx/ℓ − ‖x‖²/ℓ²)/√m", "Positive features: plain ones if a = 0, damped by a < 0 where ‖w‖ is large. Here a = −0.04.", rff.GaussianOptimal{LengthScale: 1, A: damping}, exponentials(hard, damp)},
			}},
		{"softmax", "Softmax kernel", "k(x, y) = exp(s·xᵀy), here s = 1: other scales multiply the points by √s",
			"The kernel of attention. With positive features the outputs of attention are averages of values with positive weights.", []mapping{
				{"SoftmaxTrig", "φ(x) = exp(s‖x‖²/2)·[cos(√s·Wx), sin(√s·Wx)]/√m", "Features of any sign. The estimate is exact for y = x, and its error is large where k is small.", rff.SoftmaxTrig{Scale: 1}, waves(back, wave)},
				{"SoftmaxPositive", "φ(x) = exp(√s·Wx − s‖x‖²/2)/√m", "The features of FAVOR+.", rff.SoftmaxPositive{Scale: 1}, exponentials(soft, "e^(2p)")},
				{"SoftmaxHyperbolic", "φ(x) = [exp(√s·Wx − s‖x‖²/2), exp(−√s·Wx − s‖x‖²/2)]/√(2m)", "Exact for y = −x.", rff.SoftmaxHyperbolic{Scale: 1}, evens(soft)},
				{"SoftmaxOptimal", "φ(x) = (1−4a)^(d/4)·exp(a‖w‖² + √(s(1−4a))·wᵀx − s‖x‖²/2)/√m", "The features of FAVOR++. Here a = −0.04.", rff.SoftmaxOptimal{Scale: 1, A: damping}, exponentials(soft, damp)},
				{"SADERF", "SoftmaxOptimal at Ψx and Ψ⁻¹y with a diagonal Ψ", "Fitted to samples: Ψ and a come from the second moments of queries and keys. Here the samples are anisotropic.", fitted(rff.FitSADERF[float64]), after()},
				{"ADERF", "SoftmaxOptimal, all at Ψx and Ψ⁻ᵀy", "Fitted to samples, with any matrix Ψ.", fitted(rff.FitADERF[float64]), after()},
				{"SDERF", "φ(x) = det(I−4A)^¼·exp(wᵀAw + wᵀ(I−4A)^½Qᵀx − ‖x‖²/2)/√m", "Fitted to samples, with a damping A for each direction.", fitted(rff.FitSDERF[float64]),
					of("IID", soft+"[Π_l (1−4a_l)·(1−8a_l)^(−½)·exp(2(1−4a_l)·(Qᵀ(x+y))_l²/(1−8a_l)) − e^p]/m")},
			}},
		{"dot", "Dot product", "k(x, y) = xᵀy", "Projections keep inner products [Johnson & Lindenstrauss 1984]. Whole orthogonal matrices with rows of fixed length keep inner products exactly.", []mapping{
			{"DotProduct", "φ(x) = Wx/√m", "The laws of all linear projections.", rff.DotProduct{}, dots()},
		}},
		{"angular", "Angular kernel", "k(x, y) = 1 − 2θ/π", "The features are signs of projections, so the lengths of points and of frequencies do not matter.", []mapping{
			{"Angular", "φ(x) = sign(Wx)/√m", "A feature could be stored in one bit.", rff.Angular{}, of(
				"IID", "4u(1−u)/m", "IID(FixedLength)", "4u(1−u)/m",
				"GramSchmidt", "[4u(1−u) + 4n·(P₁₂ − u²)]/m", "GramSchmidt(FixedLength)", "[4u(1−u) + 4n·(P₁₂ − u²)]/m")},
		}},
		{"arccosine", "Arc-cosine kernel", "k = ‖x‖‖y‖·J₁/π", "The kernel of an infinitely wide layer of rectified linear units [Cho & Saul 2009].", []mapping{
			{"ArcCosine", "φ(x) = √(2/m)·max(Wx, 0)", "Ramps, the layer of ReLU networks.", rff.ArcCosine{}, of(
				"IID", "(2‖x‖²‖y‖²·J₂/π − k²)/m")},
		}},
		{"matern", "Matérn and Laplacian kernels", "k = exp(−‖x−y‖₁) or the Matérn kernel of smoothness ν, here of length-scale 1", "The functions of these kernels are rougher than those of the Gaussian kernel. Their frequencies have heavier tails.", []mapping{
			{"Laplacian", "φ(x) = [cos(Wx), sin(Wx)]/√m, W of independent Cauchy variables", "", rff.Laplacian{LengthScale: 1}, of("Cauchy", "(1 − k²)/(2m)")},
			{"Matern of 1/2", "φ(x) = [cos(Wx), sin(Wx)]/√m, rows of W scaled to Student's law", "", rff.Matern{Nu: 0.5, LengthScale: 1, Src: source()}, of("IID", "(1 + k(2x, 2y) − 2k²)/(2m)")},
			{"Matern of 3/2", "φ(x) = [cos(Wx), sin(Wx)]/√m", "", rff.Matern{Nu: 1.5, LengthScale: 1, Src: source()}, of("IID", "(1 + k(2x, 2y) − 2k²)/(2m)")},
			{"Matern of 5/2", "φ(x) = [cos(Wx), sin(Wx)]/√m", "", rff.Matern{Nu: 2.5, LengthScale: 1, Src: source()}, of("IID", "(1 + k(2x, 2y) − 2k²)/(2m)")},
		}},
	}
}

// after are the laws of SoftmaxOptimal at other points.
func after() map[string]string {
	laws := exponentials(soft, damp)
	for name, law := range laws {
		laws[name] = law + ", all at Ψx and Ψ⁻ᵀy"
	}
	return laws
}

// dots are the laws of the dot product.
func dots() map[string]string {
	lengths := " + 2T/(dm)"
	rows := map[string]string{
		"GramSchmidt": "T = dP₂/(d+2)", "Hadamard": "T = T₃ for the 3 factors, T₀ = d'·Q, T_k = P₂ − 2T_(k−1)/d', and d' for d",
		"Givens": "T = d·[P₂/(d+2) + (1 − (d+2)/(2d(d−1)))^N·(Q − P₂/(d+2))] for N rotations, here 64",
	}
	laws := map[string]string{
		"IID":                  "(P + s²)/m",
		"IID(FixedLength)":     "(dP₂/(d+2) − s²)/m",
		"Simplex":              "[(T − s²)(1 + n·(κ²d − 1)/(d−1)) + 2T/d]/m, T = dP₂/(d+2)",
		"Simplex(FixedLength)": "(T − s²)(1 + n·(κ²d − 1)/(d−1))/m, T = dP₂/(d+2)",
	}
	for name, t := range rows {
		laws[name] = "(T − s²)(1 − n/(d−1))/m" + lengths + ", " + t
	}
	for name, t := range map[string]string{
		"GramSchmidt(FixedLength)": "GramSchmidt", "Hadamard(FixedLength)": "Hadamard",
		"Givens(FixedLength)": "Givens",
	} {
		laws[name] = "(T − s²)(1 − n/(d−1))/m, " + rows[t]
	}
	return laws
}

const indexHead = `# Maps and their laws

The table says which laws of the estimate φ(x)ᵀφ(y) are known, for each map over each kind of
frequencies of package [orf](../../orf). ✓ means that the exact error is known: it is the variance of
an unbiased estimate. — means that no law is known. A blank is a map that does not take the frequencies. validate.Theory computes the laws, and tests compare measurements with them.
Each page has the formulas, the numbers of an example and a picture of the error. Landmarks and exact
maps have no random frequencies, so they have no law. Over independent frequencies, maps of New have a
law by quadrature for functions that are smooth but for kinks and jumps at 0. Centred and Compose have the law of the map inside.

One command writes these pages from the code: ` + "`go run ./tools/mappages`" + `.

| map |`

const notation = `
## Notation

The example pair has d = 16, ‖x‖ = ‖y‖ = 1 and an angle of 60°. The picture shows all angles, with m = 16.

- ` + "`s = xᵀy`, `p = ‖x+y‖²`, `q = ‖x−y‖²`, `P = ‖x‖²‖y‖²`, `P₂ = P + 2s²`, `Q = Σ x_i²y_i²`" + `, θ the angle between x and y, ` + "`u = θ/π`" + `.
- n is the mean number of other rows in the block of a row: m − 1 for m ≤ d, d − 1 for whole blocks.
  κ = −1/(d−1) is the cosine of the angle between two rows of a simplex block. d' is the order of a
  Hadamard matrix to which points are padded.
- ` + "`H(t) = ₁F₁(d; d/2; t)`" + `, and ` + "`R(κ, t) = E[₁F₁(d; d/2; (1 + κ·sin 2α)·t)]`" + ` for an angle α of density ∝ (sin α·cos α)^(d−1) on [0, π/2].
- FixedLength scales every row to √d.
- ` + "`P₁₂ = (2(d−2)/(π²(d−1)))·∫₀^θ (θ−δ)·₂F₁(1, 1; (d+1)/2; sin²δ) dδ`" + ` in the angular kernel: the probability that two orthogonal rows both separate x from y.
- ` + "`J₁ = sin θ + (π−θ)cos θ`, `J₂ = 3sin θ·cos θ + (π−θ)(1 + 2cos²θ)`" + `.

[Derivations](../maps.md#derivations-of-laws) and [references](../references.md).
`
