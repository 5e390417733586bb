package iterative

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// estimate is an estimate of log det(S + λI), or of the evidence, with its standard error.
//
// A sample has the right side b = A^½g with a normal g. The vector u = P^-½b has the covariance M =
// P^-½AP^-½. Up to a rotation of g, uᵀM⁻¹log(M)u = gᵀlog(M)g, whose mean is tr log M = log det A −
// log det P. And uᵀM⁻¹u = ‖g‖² has the known mean D, a control variate. Both forms are quadratures
// with the nodes and weights of conjugate gradients.
type estimate struct{ Value, Error float64 }

// determinant estimates log det A. least is a lower bound of the eigenvalues of M.
func (c *columns) determinant(p *nystroem, least float64) estimate {
	width, n := float64(p.factor.Rows), float64(len(c.lanczos))
	logs, ones := make([]float64, len(c.lanczos)), make([]float64, len(c.lanczos))
	sum, total := 0.0, 0.0
	for i := range c.lanczos {
		logs[i], ones[i] = c.lanczos[i].quadrature(least)
		sum += logs[i]
		total += ones[i]
	}
	if !(total > 0) {
		return estimate{Value: p.logSize, Error: math.Inf(1)} // before the first step
	}
	mean := sum / total // of log M over the eigenvalues of M
	squares := 0.0
	for i, v := range logs {
		e := v - mean*ones[i]
		squares += e * e
	}
	return estimate{Value: p.logSize + width*mean, Error: width / total * math.Sqrt(n*squares/(n-1))}
}

// quadrature returns uᵀM⁻¹log(M)u and uᵀM⁻¹u by Gauss quadrature.
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
