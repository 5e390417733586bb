package conjugate

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// lanczos has the coefficients of conjugate gradients in the first round of a sample, whose right
// side is b = A^½g with a normal g, A = S + λI. For M = P^-½AP^-½ and u = P^-½b, uᵀM⁻¹log(M)u has
// the mean tr log M = log det A − log det P, and uᵀM⁻¹u = ‖g‖² has the mean D, a control variate.
// Both are quadratures with nodes and weights of the coefficients [Gardner et al. 2018].
type lanczos struct {
	size        float64 // bᵀP⁻¹b
	alpha, beta []float64
	closed      bool // the first round has ended
}

func (l *lanczos) begin(size float64) {
	if !l.closed {
		l.size = size
	}
}

func (l *lanczos) add(alpha, beta float64) {
	if !l.closed {
		l.alpha, l.beta = append(l.alpha, alpha), append(l.beta, beta)
	}
}

// determinant estimates log det A and its standard error. least is a lower bound of the eigenvalues
// of M.
func (p *Preconditioner) determinant(samples []lanczos, least float64) (value, standardError float64) {
	width, n := float64(p.factor.Cols), float64(len(samples))
	logs, ones := make([]float64, len(samples)), make([]float64, len(samples))
	sum, total := 0.0, 0.0
	for i := range samples {
		logs[i], ones[i] = samples[i].quadrature(least)
		sum += logs[i]
		total += ones[i]
	}
	if !(total > 0) {
		return p.logDet, math.Inf(1)
	}
	mean := sum / total // of log M over the eigenvalues of M
	squares := 0.0
	for i, v := range logs {
		e := v - mean*ones[i]
		squares += e * e
	}
	return p.logDet + width*mean, width / total * math.Sqrt(n*squares/(n-1))
}

func (l *lanczos) quadrature(least float64) (log, one float64) {
	n := len(l.alpha)
	if n == 0 {
		return 0, 0
	}
	t := mat.NewSymDense(n, nil)
	for i, a := range l.alpha {
		d := 1 / a
		if i > 0 {
			d += l.beta[i-1] / l.alpha[i-1]
		}
		t.SetSym(i, i, d)
		if i+1 < n {
			t.SetSym(i, i+1, math.Sqrt(l.beta[i])/a)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(t, true) {
		return math.NaN(), math.NaN()
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	for i, v := range eigen.Values(nil) {
		v = max(v, least)
		weight := l.size * vectors.At(0, i) * vectors.At(0, i)
		log += weight * math.Log(v) / v
		one += weight / v
	}
	return log, one
}
