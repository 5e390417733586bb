package audit

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

const (
	maxConfidence = 0.999

	// Measured: intervals this number of times as long as t intervals hold the error with the
	// confidence, as a sample may have too few of the largest errors.
	room = 1.25

	// Measured: a sum that fewer rows carry in effect says nothing about rows outside the sample.
	leastRows = 8

	// Relative errors of rows that differ by less, relative to themselves, differ by rounding.
	sameError = 1e-6
)

type estimate struct {
	// error is √(Σ y_i/p_i / Σ x_i/p_i) over the sampled rows, with y_i = ‖out_i−exact_i‖²,
	// x_i = ‖exact_i‖² and the probability p_i of the row to be sampled [Särndal et al. 1992].
	error float64

	stderr  float64 // of the logarithm of error, to first order; 0 if nothing varies
	skew    float64 // the skewness of error²
	freedom float64 // the degrees of freedom of stderr

	// The effective numbers of rows of Σ y_i/p_i and Σ x_i/p_i over p_i < 1 [Kish 1965].
	errors, sizes float64
}

// errorOf returns the relative error of heads from their sampled rows. Heads are strata:
// differences between the means of heads add no error.
func errorOf(heads ...[]deviation) estimate {
	var distance, size float64 // the largest ones
	for _, d := range slices.Concat(heads...) {
		if !d.finite() {
			return estimate{error: math.Inf(1)}
		}
		distance, size = max(distance, d.distance), max(size, d.size)
	}
	switch {
	case distance == 0:
		return estimate{}
	case size == 0:
		return estimate{error: math.Inf(1)}
	}
	// Squares relative to the largest ones do not overflow; they underflow only where negligible.
	square := func(x, largest, chance float64) float64 { return x / largest * (x / largest) / chance }
	var y, x float64
	var uncertain [4]float64 // y, y², x and x² of rows with a probability below 1
	least, most := math.Inf(1), 0.0
	for _, d := range slices.Concat(heads...) {
		least, most = min(least, d.relative()), max(most, d.relative())
		dy, dx := square(d.distance, distance, d.chance), square(d.size, size, d.chance)
		y += dy
		x += dx
		if d.chance < 1 {
			floats.Add(uncertain[:], []float64{dy, dy * dy, dx, dx * dx})
		}
	}
	e := estimate{error: distance / size * math.Sqrt(y/x)}
	e.errors, e.sizes = uncertain[0]*uncertain[0]/uncertain[1], uncertain[2]*uncertain[2]/uncertain[3]
	if len(heads[0]) > 1 && most <= least*(1+sameError) {
		return e
	}
	var variance, squares, cubes float64
	for _, rows := range heads {
		excess := make([]float64, len(rows)) // over a row with the error of all rows
		var sum, weights float64
		for i, d := range rows {
			excess[i] = square(d.distance, distance, d.chance) - y/x*square(d.size, size, d.chance)
			w := 1 - d.chance
			sum += w * excess[i]
			weights += w
		}
		n := float64(len(rows))
		for i, d := range rows {
			// The approximate variance [Hájek 1964]. Rows with the probability 1 have none.
			if d.chance < 1 && n > 1 {
				variance += (1 - d.chance) * math.Pow(excess[i]-sum/weights, 2) * n / (n - 1)
			}
			squares += excess[i] * excess[i]
			cubes += excess[i] * excess[i] * excess[i]
		}
		e.freedom += n - 1
		if n == 1 && weights > 0 {
			variance = math.Inf(1)
		}
	}
	e.stderr = math.Sqrt(variance) / (2 * y)
	if squares > 0 {
		e.skew = cubes / squares / math.Sqrt(squares)
	}
	return e
}

// above returns a bound that the error exceeds with a probability, as an end of a t interval of the
// logarithm of the error. Upper ends have the correction of [Johnson 1978] for skewness.
func (e estimate) above(probability float64) float64 {
	switch {
	case e.stderr == 0:
		return e.error
	case math.IsInf(e.stderr, 1) && probability < 0.5:
		return math.Inf(1)
	case math.IsInf(e.stderr, 1):
		return 0
	}
	t := distuv.StudentsT{Sigma: 1, Nu: e.freedom}.Quantile(1 - probability)
	if t > 0 {
		t += max(e.skew, 0) * (1 + 2*t*t) / 6
	}
	return e.error * math.Exp(t*e.stderr)
}

// interval returns an interval that holds the error of all rows with the confidence. high is +Inf
// if few rows carry the error, and the interval is [0, +Inf] if few rows carry the sizes.
func (e estimate) interval(confidence float64) (low, high float64) {
	e.stderr *= room
	low, high = e.above((1+confidence)/2), e.above((1-confidence)/2)
	if low < high && !(e.sizes >= leastRows) {
		low = 0
	}
	if low < high && !(min(e.errors, e.sizes) >= leastRows) {
		high = math.Inf(1)
	}
	return low, high
}

// quantile returns the smallest of the sorted x that a share p of all rows does not exceed. Each x
// stands for a number of rows.
func quantile(x, rows []float64, p float64) float64 {
	rest := floats.Sum(rows) * (1 - p) * (1 + 1e-12)
	for i := len(x) - 1; i > 0; i-- {
		if rest -= rows[i]; rest < 0 {
			return x[i]
		}
	}
	return x[0]
}

// unseen returns the smallest share of all rows of heads with this property: if more rows were
// worse than all sampled rows, samples would contain one of them with the confidence. chances has
// lower bounds of the probability of each row of each head to be sampled, ascending. Samples miss
// rows most often if the rows have the smallest probabilities.
func unseen(chances [][]float64, confidence float64) float64 {
	limit, rows := math.Log1p(-confidence), 0
	var missed []float64 // logarithms of the probabilities to miss a row after others
	for _, head := range chances {
		n := floats.Sum(head)
		rest, sum := n, 0.0
		for i := 0; i < len(head) && sum > limit; i++ {
			m := math.Log1p(-min(head[i]*n/rest, 1))
			missed = append(missed, m)
			sum += m
			rest -= head[i]
		}
		rows += len(head)
	}
	slices.Sort(missed)
	for i, sum := 0, 0.0; i < len(missed); i++ {
		if sum += missed[len(missed)-1-i]; sum <= limit {
			return float64(i) / float64(rows)
		}
	}
	return 1
}
