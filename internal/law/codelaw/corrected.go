package codelaw

import (
	"math"
	"math/cmplx"

	"gonum.org/v1/gonum/integrate/quad"
)

// SignsCorrected returns the moments in R^d, d ≥ 4, of s = sign(u)/‖u‖₁, for which sᵀu = 1. With a
// Gaussian vector g, E 1/‖u‖₁² = E 1/‖g‖₁² / E 1/‖g‖² and E 1/‖g‖² = 1/(d−2), so that
//
//	C = d·(d−2)·∫₀^∞ t·(E e^(−t|g₁|))^d dt,  E e^(−t|g₁|) = e^(t²/2)·erfc(t/√2).
func SignsCorrected(d int) Moments {
	k := float64(d)
	// The integrand decays as e^(−t·d·√(2/π)) for small t and as t^(1−d) for large t. The
	// substitution t = scale·v/(1−v) suits both.
	scale := 2 / k
	const panels, points = 8, 40
	sum := 0.0
	for i := range panels {
		sum += quad.Fixed(func(v float64) float64 {
			t := scale * v / (1 - v)
			return t * math.Pow(scaledErfc(t/math.Sqrt2), k) * scale / ((1 - v) * (1 - v))
		}, float64(i)/panels, float64(i+1)/panels, points, quad.Legendre{}, 0)
	}
	return Moments{Along: 1, AlongSquare: 1, Square: k * (k - 2) * sum}
}

// scaledErfc returns e^(x²)·erfc(x) for x ≥ 0.
func scaledErfc(x float64) float64 {
	if x < 12 {
		return math.Exp(x*x) * math.Erfc(x)
	}
	t := 1 / (2 * x * x)
	return (1 - t*(1-3*t*(1-5*t*(1-7*t*(1-9*t))))) / (x * math.SqrtPi)
}

// CorrectedDimension is the smallest d for which Corrected accepts more than one cell per sign. In
// lower dimensions the Fourier integrand decays too slowly.
const CorrectedDimension = 32

// Corrected returns the moments in R^d of s/(sᵀu), where s is the code: A = B = 1 and C = E
// ‖s‖²/(sᵀu)². d is at least CorrectedDimension, or at least 4 for one cell per sign. With N = ‖s‖²
// and M = sᵀu, C = ∫ t·E[N·e^(−tM)] dt. On the sphere ‖y‖² = d, the expectation of a product of
// functions of the coordinates is ∫ e^(iωd)·G(ω) dω / ∫ e^(iωd)·(1+2iω)^(−d/2) dω, where G is the
// product of the expectations of each function times e^(−iωy²) over a Gaussian y.
func (c Cells) Corrected(d int) Moments {
	if len(c.Levels) == 1 {
		return SignsCorrected(d)
	}
	k := float64(d)
	root := math.Sqrt(k)
	// The trapezoidal rule of step h averages over ‖y‖² = d + multiples of 2π/h, where the density
	// is negligible except at d. |G| decays as (1+4ω²)^(−d/4), to 1e-15 at end.
	h := 2 * math.Pi / (12*root + 80)
	end := 0.5 * math.Sqrt(math.Pow(1e15, 4/k)-1)
	omegas := int(end/h) + 1

	nodes := c.gaussianNodes(root, end)
	along := c.Moments(d).Along
	const last, points = 60.0, 48 // the quadrature over 0 < τ = t·E M < last
	at, weight := make([]float64, points), make([]float64, points)
	quad.Legendre{}.FixedLocations(at, weight, 0, last)

	tilt := make([][]float64, points)
	for i, tau := range at {
		t := tau / along
		tilt[i] = make([]float64, len(nodes))
		for j, n := range nodes {
			tilt[i][j] = math.Exp(-t * n.level * n.y / root)
		}
	}
	sums, all := make([]float64, points), 0.0
	turn := make([]complex128, len(nodes))
	for w := 0; w <= omegas; w++ {
		omega := float64(w) * h
		for j, n := range nodes {
			sin, cos := math.Sincos(-omega * n.y * n.y)
			turn[j] = complex(n.weight*cos, n.weight*sin)
		}
		half := 2.0 // for ω and −ω
		if w == 0 {
			half = 1
		}
		for i := range at {
			var one, square complex128
			for j, n := range nodes {
				v := turn[j] * complex(tilt[i][j], 0)
				one += v
				square += v * complex(n.level*n.level, 0)
			}
			sums[i] += half * real(cmplx.Exp(complex((k-1), 0)*cmplx.Log(one)+complex(0, omega*k))*square)
		}
		all += half * real(cmplx.Exp(complex(-k/2, 0)*cmplx.Log(complex(1, 2*omega))+complex(0, omega*k)))
	}
	square := 0.0
	for i, tau := range at {
		square += weight[i] * tau * k * sums[i] / all
	}
	return Moments{Along: 1, AlongSquare: 1, Square: square / (along * along)}
}

// node is a point y ≥ 0 of a quadrature over the normal density of |y|, and the level of y/√d.
type node struct{ y, weight, level float64 }

// gaussianNodes returns a Gauss–Legendre rule over the cells. The panels of the rule resolve
// e^(−iωy²) up to the largest ω.
func (c Cells) gaussianNodes(root, largest float64) []node {
	const points, reach = 12, 9.0
	var nodes []node
	at, weight := make([]float64, points), make([]float64, points)
	for j, edge := range c.Edges {
		lo, hi := edge*root, math.Min(reach, root)
		if j+1 < len(c.Edges) {
			hi = math.Min(hi, c.Edges[j+1]*root)
		}
		for lo < hi {
			next := math.Min(hi, lo+math.Min(1, 3/(2*largest*(lo+1))))
			quad.Legendre{}.FixedLocations(at, weight, lo, next)
			for i, y := range at {
				nodes = append(nodes, node{y, weight[i] * math.Sqrt(2/math.Pi) * math.Exp(-y*y/2), c.Levels[j]})
			}
			lo = next
		}
	}
	return nodes
}
