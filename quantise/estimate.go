package quantise

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
)

// cosine returns the estimate of the cosine of x − c and q − tc, or of x and q if s is nil, from the
// product of sᵀ and x.roundedOf(s), which is divided by its norm. In this package conversions of products keep the compiler from fusing them with
// sums, because fused sums have other bits on other processors.
func (x *Query) cosine(s *shift, product float32, n *numbers) float64 {
	cosine := float64(float64(product) * n.ratio)
	switch {
	case s == nil, s.far && n.norm > 0:
		return cosine
	case n.norm > 0 && s.norm > 0:
		return (float64(cosine*x.norm) - s.t*n.codedProduct/n.norm) / s.norm
	}
	return 0
}

// value returns the estimate of the measure for a row from the estimate of the cosine.
func (x *Query) value(s *shift, n *numbers, cosine float64) float64 {
	norm := n.norm
	if x.exponent != 0 && x.by != Cosine {
		product := 0.0
		switch {
		case s != nil:
			product = x.centredValue(InnerProduct, s, n, cosine)
			norm = s.fullNorm(norm, n.centreProduct)
		case norm > 0:
			product = norm * x.norm * cosine
		}
		if x.by == InnerProduct {
			return math.Ldexp(product, x.exponent)
		}
		return x.withSquare(float64(norm*norm) - math.Ldexp(2*product, x.exponent))
	}
	if s != nil {
		return x.centredValue(x.by, s, n, cosine)
	}
	if norm == 0 {
		cosine = 0
	}
	switch x.by {
	case InnerProduct:
		return norm * x.norm * cosine
	case SquaredDistance:
		return float64(norm*norm) + float64(x.norm*x.norm) - float64(2*norm*x.norm*cosine)
	}
	if x.norm != x.norm {
		return x.norm
	}
	return cosine
}

// centredValue returns the estimate of a measure for a row x from the estimate of the cosine of x −
// c and q − tc.
func (x *Query) centredValue(by Measure, s *shift, n *numbers, cosine float64) float64 {
	if x.norm != x.norm {
		return x.norm
	}
	product := 0.0
	if n.norm > 0 && s.norm > 0 {
		product = float64(n.norm * s.norm * cosine)
	}
	switch by {
	case SquaredDistance:
		return float64(n.norm*n.norm) + s.distance + float64(2*s.short*n.centreProduct) - 2*product
	case Cosine:
		whole := s.fullNorm(n.norm, n.centreProduct) * s.queryNorm
		if whole == 0 {
			return 0
		}
		return (s.product + float64(s.t*n.centreProduct) + product) / whole
	}
	return s.product + float64(s.t*n.centreProduct) + product
}

// withSquare returns ‖q‖² + rest, the squared distance for rest = ‖x‖² − 2xᵀq, and +Inf if ‖q‖² is
// +Inf.
func (x *Query) withSquare(rest float64) float64 {
	if math.IsInf(x.square, 1) {
		return x.square
	}
	return x.square + rest
}

// undivided returns what a difference of scores, which are those of the divided query, is in the
// measure.
func (x *Query) undivided(difference float64) float64 {
	switch {
	case x.exponent == 0 || x.by == Cosine:
		return difference
	case x.by == InnerProduct:
		return math.Ldexp(difference, x.exponent)
	}
	return math.Ldexp(difference, max(x.exponent, 0))
}

// varianceOf returns ‖s‖²/(sᵀu)² − 1 of a row.
func (x *Query) varianceOf(n *numbers) float64 {
	if x.bit > 0 {
		return max(0, float64(x.bit*n.ratio*n.ratio)-1)
	}
	return n.variance
}

// relative returns the factor of the rounding error of x.roundedOf(s): ‖q‖/‖q − tc‖, or 1 if what is
// rounded is q − tc.
func (x *Query) relative(s *shift) float64 {
	if s == nil || s.far {
		return 1
	}
	return x.norm / s.norm
}

// estimate returns the estimate for a row.
func (x *Query) estimate(s *shift, product float32, n *numbers) Estimate {
	cosine := x.cosine(s, product, n)
	e := Estimate{Value: x.value(s, n, cosine)}
	norm := x.norm
	if s != nil {
		norm = s.norm
	}
	if n.norm == 0 || norm == 0 || x.norm != x.norm {
		e.StdErr = 0 * x.norm // NaN for a query that is not finite, as the value is
		if x.z > 0 {
			e.Low, e.High = e.Value, e.Value
		}
		return e
	}
	rounding := x.roundedOf(s).rounding * x.relative(s)
	if x.eachRow {
		variance := x.varianceOf(n)
		across := variance * x.perDimension
		// 1 − ρ² is uncertain by its standard error, so an estimate of 1 or more does not imply ρ = 1.
		e.StdErr = math.Sqrt(float64(max(1-float64(cosine*cosine), across)*across) + float64(rounding*rounding*(1+variance)))
	} else {
		e.StdErr = math.Sqrt(x.averageVariance(cosine) + float64(rounding*rounding*x.moments.Square/x.averaged))
	}
	scale := 1.0
	switch {
	case x.by != Cosine:
		scale = n.norm * norm
	case s != nil:
		scale = 0
		if whole := s.fullNorm(n.norm, n.centreProduct) * s.queryNorm; whole > 0 {
			scale = n.norm * norm / whole
		}
	}
	if x.by == SquaredDistance {
		scale *= 2
	}
	if e.StdErr *= scale; x.exponent != 0 && x.by != Cosine {
		e.StdErr = math.Ldexp(e.StdErr, x.exponent)
	}
	stored := x.storedError(s, n, e.Value)
	e.StdErr = bothErrors(e.StdErr, stored)
	if x.z > 0 {
		law, rounding := x.errorBound(s, x.z, x.varianceOf(n))
		slack := 8 * stored // numbers that are rounded evenly differ by at most √3 standard errors
		if s != nil {
			slack += x.undivided(x.roundingBound(s, n))
		}
		e.Low = x.value(s, n, -withRoundings(upperCosine(rounding-cosine, law))) - slack
		e.High = x.value(s, n, withRoundings(upperCosine(cosine+rounding, law))) + slack
		if x.by == SquaredDistance {
			e.Low, e.High = e.High-2*slack, e.Low+2*slack
		}
	}
	return e
}

// averageVariance returns the mean squared error of an estimate of a cosine. It uses the estimate in
// place of the true cosine.
func (x *Query) averageVariance(estimate float64) float64 {
	m := x.moments
	across := max(0, m.Square-m.AlongSquare) / (x.out - 1)
	rho := min(max(estimate/m.Along, -1), 1)
	square := float64(rho * rho)
	variance := float64(square*max(0, m.AlongSquare-float64(m.Along*m.Along))) + float64(max(1-square, across/x.averaged)*across)
	bias := rho * (m.Along - 1)
	return variance/x.averaged + float64(bias*bias)
}

// estimate writes the estimates of the first len(dst) rows.
func (q *quantiser[T]) estimate(dst []Estimate, x *Query, f *batch) {
	if q.centres == nil {
		f.multiply(&x.rounded, len(dst))
	} else {
		q.multiplyShifted(f, x, len(dst))
	}
	q.estimateProducts(dst, x, f)
}

// estimateProducts is estimate for products that f has already.
func (q *quantiser[T]) estimateProducts(dst []Estimate, x *Query, f *batch) {
	if q.centres == nil && x.exponent == 0 && x.z == 0 && x.eachRow && x.norm > 0 {
		x.estimatePlain(dst, f)
		return
	}
	for i := range dst {
		n := numbers{float64(f.columns[norms][i]), float64(f.columns[ratios][i]), float64(f.columns[variances][i]),
			float64(f.columns[centreProducts][i]), float64(f.columns[codedProducts][i]), int(f.clusters[i])}
		dst[i] = x.estimate(q.shiftOf(x, n.cluster), f.products[i], &n)
	}
}

// estimatePlain is estimate of RaBitQ without centres, bounds and exponent.
func (x *Query) estimatePlain(dst []Estimate, f *batch) {
	square, rounding := float64(x.norm*x.norm), float64(x.rounding*x.rounding)
	for i := range dst {
		norm, ratio, variance := float64(f.columns[norms][i]), float64(f.columns[ratios][i]), float64(f.columns[variances][i])
		cosine := float64(float64(f.products[i]) * ratio)
		if x.bit > 0 {
			variance = max(0, float64(x.bit*ratio*ratio)-1)
		}
		across := variance * x.perDimension
		deviation := math.Sqrt(float64(max(1-float64(cosine*cosine), across)*across) + float64(rounding*(1+variance)))
		e := &dst[i]
		e.Low, e.High = 0, 0
		switch both := norm * x.norm; {
		case norm == 0:
			*e = Estimate{}
			if x.by == SquaredDistance {
				e.Value = square
			}
		case x.by == Cosine:
			e.Value, e.StdErr = cosine, deviation
		case x.by == InnerProduct:
			e.Value, e.StdErr = both*cosine, deviation*both
		default:
			e.Value, e.StdErr = float64(norm*norm)+square-float64(2*both*cosine), deviation*(both*2)
			if norm > unequal*x.norm || x.norm > unequal*norm {
				e.StdErr = bothErrors(e.StdErr, x.storedError(nil, &numbers{norm: norm}, e.Value))
			}
		}
	}
}

func (c *codes[T]) Estimates(dst []Estimate, query *Query, from int) []Estimate {
	c.q.check(query)
	all := c.rows()
	if from < 0 || from > all.n || len(dst) > all.n-from {
		panic(fmt.Sprintf("quantise: rows [%d, %d) of %d", from, from+len(dst), all.n))
	}
	e := c.q.estimators.Get()
	e.q, e.rows, e.dst, e.query, e.from = c.q, all, dst, query, from
	e.run()
	return dst
}

func (c *codes[T]) EstimateRows(dst []Estimate, query *Query, ids []int) []Estimate {
	c.q.check(query)
	all := c.rows()
	if len(dst) != len(ids) {
		panic(fmt.Sprintf("quantise: dst has %d elements, want %d", len(dst), len(ids)))
	}
	for _, id := range ids {
		if id < 0 || id >= all.n {
			panic(fmt.Sprintf("quantise: row %d of %d", id, all.n))
		}
	}
	e := c.q.estimators.Get()
	e.q, e.rows, e.dst, e.query, e.ids = c.q, all, dst, query, ids
	e.run()
	return dst
}

// estimator estimates rows in parallel.
type estimator[T dense.Float] struct {
	q     *quantiser[T]
	rows  *rows
	dst   []Estimate
	query *Query
	from  int
	ids   []int
}

// estimateRows is the number of rows of one task.
const estimateRows = 1 << 12

// run writes all estimates, and returns e to the pool.
func (e *estimator[T]) run() {
	if len(e.dst) <= estimateRows {
		e.Piece(0)
	} else {
		parallel.Do((len(e.dst)+estimateRows-1)/estimateRows, e)
	}
	q := e.q
	*e = estimator[T]{}
	q.estimators.Put(e)
}

// Piece estimates the rows of one task.
func (e *estimator[T]) Piece(i int) {
	f := batches.Get()
	defer batches.Put(f)
	end := min((i+1)*estimateRows, len(e.dst))
	for lo := i * estimateRows; lo < end; lo += fewRows {
		hi := min(lo+fewRows, end)
		if e.ids == nil {
			e.rows.addRange(f, e.from+lo, hi-lo, e.q.words)
		} else {
			for j, id := range e.ids[lo:hi] {
				e.rows.addRow(f, j, id, e.q.words)
			}
		}
		e.q.estimate(e.dst[lo:hi], e.query, f)
	}
}
