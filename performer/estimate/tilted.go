package estimate

import (
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// tilted is an importance sample of the random features for the moments of one output of attention.
// A frequency w ~ N(0, I) gives the output V(w) and the weight ω(w) in a ratio,
//
//	V(w) = Σ_j φ(k_j)v_j / Σ_j φ(k_j),  ω(w) = φ(q)·Σ_j φ(k_j) / Σ_j A_j,  E ω = 1.
//
// Frequencies that are rare under N(0, I) dominate the moments of ω. Two better distributions have
// the densities ω and Σ_j P_j·ω_j²/E ω_j² relative to N(0, I), with ω_j the weight for the single
// key k_j. With P_j = A_j/ΣA, s = −4a, z_j = √Scale·(q+k_j), and t = 1 and 2, these distributions
// are
//
//	Σ_j P_j·N(t·√(1+s)·z_j/(1+ts), I/(1+ts)),  E ω_j² = (1+s)^d·(1+2s)^(−d/2)·exp(‖z_j‖²/(1+2s))
//
// A third of a sample comes from N(0, I), where t = 0, a third from t = 1, which is good for second
// moments, and a third from t = 2, which is good for fourth moments.
type tilted struct {
	weights []float64             // ω
	shares  []float64             // ω/(n·density of the sample): E ω·f(w) ≈ Σ share·f(w)
	away    dense.Matrix[float64] // V(w) − out, n×dv
}

const (
	distributions = 3 // of a sample

	// maxLog bounds |log ω|, so that the powers of ω do not overflow.
	maxLog = 300
)

// tilt draws n frequencies of each distribution for the output of the query q (1×d), with exact
// attention o over keys k and values v, and with the a of rff.SoftmaxOptimal.
func tilt(n int, o exactRow, q, k, v dense.Matrix[float64], scale, a float64, rng *rand.Rand) (*tilted, error) {
	w := tiltedFrequencies(n, o, q, k, scale, a, rng)
	n = w.Rows
	p, err := orf.FromMatrix(w)
	if err != nil {
		return nil, err
	}
	drawn, err := rff.Draw(rff.SoftmaxOptimal{Scale: scale, A: a}, p)
	if err != nil {
		return nil, err
	}
	phi := drawn.(rff.LogMap[float64])
	var none dense.Matrix[float64]
	logQ := phi.LogTransform(none, q)
	logK := dense.Transpose(none, phi.LogTransform(none, k))

	// The logarithms of A_j·E ω_j².
	d, s := float64(q.Cols), -4*a
	squares := make([]float64, k.Rows)
	for j, score := range o.scores {
		squares[j] = score + d*math.Log1p(s) - d/2*math.Log1p(2*s) + o.norms[j]/(1+2*s)
	}
	t := &tilted{shares: make([]float64, n), weights: make([]float64, n), away: dense.New[float64](n, v.Cols)}
	further := make([]float64, k.Rows)
	logN := math.Log(float64(n)) // the map divides each of two features by √n
	for i := range n {
		row := logK.Row(i)
		own := logQ.Data[i] + logN
		for j, x := range row {
			further[j] = 2*(own+x) - squares[j]
		}
		logOmega := own + logSoftmax(row) - o.logTotal
		more := math.Exp(logSoftmax(further) - o.logTotal - logOmega)
		t.weights[i] = math.Exp(max(-maxLog, min(maxLog, logOmega)))
		t.shares[i] = distributions / (1/t.weights[i] + 1 + more) / float64(n)
		for j := range row {
			row[j] -= o.weights[j]
		}
	}
	matmul.Mul(1, logK, v, 0, t.away)
	return t, nil
}

func tiltedFrequencies(n int, o exactRow, q, k dense.Matrix[float64], scale, a float64, rng *rand.Rand) dense.Matrix[float64] {
	w := dense.New[float64](distributions*n, q.Cols)
	s := -4 * a
	for t := range distributions {
		strength := float64(t)
		mean, spread := strength*math.Sqrt((1+s)*scale)/(1+strength*s), 1/math.Sqrt(1+strength*s)
		j, below := 0, o.weights[0]
		for i := range n {
			// Strata of equal probability: each key with a weight of 1/n or more has a frequency.
			for at := (float64(i) + rng.Float64()) / float64(n); below < at && j+1 < k.Rows; below += o.weights[j] {
				j++
			}
			row := w.Row(t*n + i)
			for c, x := range q.Data {
				row[c] = mean*(x+k.At(j, c)) + spread*rng.NormFloat64()
			}
		}
	}
	return w
}

// addTerms adds represents·E‖Y−out‖² with m features to variances[l], and represents·E‖Δ‖² with two
// halves of m features each to squares[l], where m is 2^l·least. addTerms returns represents·‖β‖²
// for twice as many features as the last m.
//
// For each feature addTerms replaces the sum of the other m − 1 weights by their typical sum b.
// With this b the effect of a rare weight on a ratio is bounded, although the moments of the weight
// are large. With features from N(0, I),
//
//	E(Y−out) ≈ m·E[ω(V−out)/(b+ω)] = β(m)
//	E‖Y−out‖² ≈ ‖β(m)‖² + m·E[ω²‖V−out‖²/(b+ω)²] = ‖β(m)‖² + G
//	E‖Δ‖² ≈ ‖β(2m)−β(m)‖² + (G·H + ‖C‖²)/4 + (m/2)·E[ω⁴‖V−out‖²/((b+ω)²(2b+ω)²)]
//
// where H is the variance of the denominators and C their covariance with V−out, with the same
// replacement as in G. The terms of E‖Δ‖² come from the mean, from pairs of features, and from one
// dominant feature (derived).
func (t *tilted) addTerms(variances, squares []float64, least, represents float64) float64 {
	distances := make([]float64, len(t.weights))
	for i := range distances {
		distances[i] = 2 * vecmath.HalfSquaredNorm(t.away.Row(i))
	}
	covariance := make([]float64, t.away.Cols)
	bias, before := make([]float64, t.away.Cols), make([]float64, t.away.Cols)
	constant := 1 / vecmath.Sum(t.shares) // the average of m/(b+ω)
	var b float64
	for l := 0; ; l++ {
		m := math.Ldexp(least, l)
		b = t.typical(m, 2*b)
		bias, before = before, bias
		clear(bias)
		for i, w := range t.weights {
			// E ω(V−out) is zero: its estimate serves as a control variate.
			vecmath.AddScaled(bias, t.away.Row(i), t.shares[i]*(m/(b+w)-constant))
		}
		if l > 0 {
			squares[l-1] += represents * vecmath.SquaredDistance(bias, before)
		}
		if l == len(squares) {
			return represents * 2 * vecmath.HalfSquaredNorm(bias)
		}
		var variance, spread, single float64
		clear(covariance)
		for i, w := range t.weights {
			x, y := w/(b+w), w/(2*b+w)
			own := m * x * x / w * t.shares[i]
			variance += own * distances[i]
			spread += own
			single += own * y * y * distances[i] / 2
			vecmath.AddScaled(covariance, t.away.Row(i), own)
		}
		if l < len(variances) {
			variances[l] += represents * (variance + 2*vecmath.HalfSquaredNorm(bias))
		}
		pairs := (variance*max(spread-1/m, 0) + 2*vecmath.HalfSquaredNorm(covariance)) / 4
		squares[l] += represents * (pairs + single)
	}
}

// typical returns the solution b of m·E[ω·b/(b+ω)] = b, a typical sum of m weights ω. Weights that
// are rarer than one in m hardly change b. typical starts at atLeast, which must not be above the
// solution.
func (t *tilted) typical(m, atLeast float64) float64 {
	for b := atLeast; ; {
		// Newton's method for the convex function E[1/(b+ω)·ω] − 1/m approaches b from below.
		var mean, slope float64
		for i, w := range t.weights {
			x := 1 / (b + w)
			mean += x * t.shares[i]
			slope += x * x * t.shares[i]
		}
		step := (mean - 1/m) / slope
		if !(step > 1e-9*b) {
			return b
		}
		b += step
	}
}
