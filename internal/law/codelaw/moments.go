package codelaw

import "math"

type Moments struct {
	Along       float64 // A = E sᵀu
	AlongSquare float64 // B = E (sᵀu)²
	Square      float64 // C = E‖s‖²
}

// Cosine returns the mean and the variance of sᵀp in R^d, where p is a unit vector with uᵀp = rho.
func (m Moments) Cosine(d int, rho float64) (mean, variance float64) {
	spread := math.Max(0, m.AlongSquare-m.Along*m.Along)
	across := math.Max(0, m.Square-m.AlongSquare) / float64(d-1)
	return rho * m.Along, rho*rho*spread + (1-rho)*(1+rho)*across
}

// meanAbsolute returns E|u₁| = Γ(d/2)/(√π·Γ((d+1)/2)) for a uniform unit vector in R^d.
func meanAbsolute(d int) float64 {
	x := float64(d) / 2
	if x < 85 {
		return math.Gamma(x) / (math.SqrtPi * math.Gamma(x+0.5))
	}
	// √x·Γ(x)/Γ(x+½) is a series in 1/x. The first term left out is below 4e-3/x⁷.
	t := 1 / x
	series := 1 + t*(1./8+t*(1./128+t*(-5./1024+t*(-21./32768+t*(399./262144+t*(869./4194304))))))
	return series / math.Sqrt(math.Pi*x)
}
