package iterative

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// estimate is log det(S + λI), or what follows from it, and its standard error.
//
// A sample has the right side b = A^½g with a normal g. In the basis of P, u = P^-½b has the
// covariance M = P^-½AP^-½, so that uᵀM⁻¹log(M)u = gᵀlog(M)g, up to a rotation of g, has the mean
// tr log M = log det A − log det P; and uᵀM⁻¹u = ‖g‖² has the mean D, which is known, and serves as
// a control. Both are quadratures with the nodes and weights of conjugate gradients.
type estimate struct{ Value, Error float64 }

// determinant estimates log det A. least is a bound of the eigenvalues of M from below.
func (c *columns) determinant(p *nystroem, least float64) estimate {
	width, n := float64(p.Factor.Rows), float64(len(c.Lanczos))
	logs, ones := make([]float64, len(c.Lanczos)), make([]float64, len(c.Lanczos))
	sum, total := 0.0, 0.0
	for i := range c.Lanczos {
		logs[i], ones[i] = c.Lanczos[i].quadrature(least)
		sum += logs[i]
		total += ones[i]
	}
	if !(total > 0) {
		return estimate{Value: p.logSize, Error: math.Inf(1)} // no step has been taken
	}
	mean := sum / total // of log M over its eigenvalues
	squares := 0.0
	for i, v := range logs {
		e := v - mean*ones[i]
		squares += e * e
	}
	return estimate{Value: p.logSize + width*mean, Error: width / total * math.Sqrt(n*squares/(n-1))}
}

// quadrature returns uᵀM⁻¹log(M)u and uᵀM⁻¹u by the quadrature of Gauss.
func (l *lanczos) quadrature(least float64) (log, one float64) {
	n := len(l.Alpha)
	if n == 0 {
		return 0, 0
	}
	t := mat.NewSymDense(n, nil)
	for i, a := range l.Alpha {
		d := 1 / a
		if i > 0 {
			d += l.Beta[i-1] / l.Alpha[i-1]
		}
		t.SetSym(i, i, d)
		if i+1 < n {
			t.SetSym(i, i+1, math.Sqrt(l.Beta[i])/a)
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
		weight := l.Size * vectors.At(0, i) * vectors.At(0, i)
		log += weight * math.Log(v) / v
		one += weight / v
	}
	return log, one
}
