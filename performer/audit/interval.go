package audit

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

const (
	maxConfidence = 0.999

	// The least number of bootstrap samples, and the least number outside an interval.
	minResamples     = 1000
	resamplesOutside = 40

	// The shares of 1 − confidence below and above an interval of the sampled rows. A sample often
	// has no row of the largest errors, so that the error is above the interval more often than
	// shareAbove says. With FAVOR+ and 64 rows at confidence 0.95, the error was above the interval
	// in 4 to 7 of 100 samples for shareAbove = ½ and in 2 to 4 for ⅕, and below it in less than 1.
	shareBelow = 0.5
	shareAbove = 0.2

	// The share of the sampled rows that bounds the size of other rows, and the least number of
	// rows.
	tailShare = 0.2
	minTail   = 4
)

// errorOf returns the relative error of the rows of heads, and its ratio. The ratio is nil if the
// error is 0 or not finite.
func errorOf(heads [][]deviation) (float64, *ratio) {
	var distance, size float64 // the largest ones
	for _, d := range slices.Concat(heads...) {
		if !d.finite() {
			return math.Inf(1), nil
		}
		distance, size = max(distance, d.distance), max(size, d.size)
	}
	switch {
	case distance == 0:
		return 0, nil
	case size == 0:
		return math.Inf(1), nil
	}
	// Squares relative to the largest ones do not overflow, and underflow only where they are
	// negligible.
	r := &ratio{unit: distance / size}
	for _, rows := range heads {
		squares := make([][2]float64, len(rows))
		for i, d := range rows {
			y, x := d.distance/distance, d.size/size
			squares[i] = [2]float64{y * y, x * x}
		}
		r.heads = append(r.heads, squares)
	}
	e, _ := root(r.heads)
	return r.unit * e, r
}

// ratio is the ratio Σy/Σx of sums over the sampled rows of heads, of y_i = ‖out_i−exact_i‖² and
// x_i = ‖exact_i‖², each relative to the largest of them.
type ratio struct {
	heads [][][2]float64 // y_i and x_i
	unit  float64        // √(y/x) of the largest y and x
}

// root returns √(Σy/Σx) over the rows, and its standard error to first order. Heads are strata:
// differences between the means of heads add no error.
func root(heads [][][2]float64) (root, stderr float64) {
	var y, x, variance float64
	for _, rows := range heads {
		for _, s := range rows {
			y += s[0]
			x += s[1]
		}
	}
	for _, rows := range heads {
		var sum, squares float64
		for _, s := range rows {
			e := s[0] - y/x*s[1]
			sum += e
			squares += e * e
		}
		n := float64(len(rows))
		variance += max(squares-sum*sum/n, 0) * n / (n - 1)
	}
	root = math.Sqrt(y / x)
	return root, math.Sqrt(variance) / (2 * x * root)
}

// interval returns sampledInterval with room for one row outside the sample: for its error at the
// upper end, for its size at the lower end.
func (r *ratio) interval(population int, confidence float64, rng *rand.Rand) (low, high float64) {
	low, high = r.sampledInterval(population, confidence, rng)
	return r.widen(low, high, population, confidence, 1)
}

// widen adds the room to an interval of the sampled rows. The bound of errors has a margin in
// standard errors.
func (r *ratio) widen(low, high float64, population int, confidence, margin float64) (float64, float64) {
	if low < high && len(r.heads[0]) > 1 {
		// A row with the relative error of all rows leaves the ratio as it is. So the smaller of
		// two bounds counts: of the whole row, and of its excess over a row with that relative
		// error.
		low /= math.Sqrt(1 + r.rare(population, confidence, 0,
			func(_, size float64) float64 { return size }, func(e, size float64) float64 { return max(size-e, 0) }))
		high *= math.Sqrt(1 + r.rare(population, confidence, margin,
			func(e, _ float64) float64 { return e }, func(e, size float64) float64 { return max(e-size, 0) }))
	}
	return low, high
}

// sampledInterval returns the bootstrap-t interval of the error for population rows of each head
// [Efron & Tibshirani 1993], or an end of a t interval if it is further out.
func (r *ratio) sampledInterval(population int, confidence float64, rng *rand.Rand) (low, high float64) {
	estimate, stderr := root(r.heads)
	n := len(r.heads[0])
	// Rows with the same relative error differ by rounding, which has no distribution.
	if n == population || stderr <= 1e-12*estimate {
		return r.unit * estimate, r.unit * estimate
	}
	if n == 1 {
		return 0, math.Inf(1)
	}
	samples := resamples(confidence) - 1
	again, t := make([][][2]float64, len(r.heads)), make([]float64, samples)
	for h := range again {
		again[h] = make([][2]float64, n)
	}
	for b := range t {
		for h, rows := range r.heads {
			for i := range again[h] {
				again[h][i] = rows[rng.IntN(n)]
			}
		}
		t[b] = studentised(again, estimate)
	}
	slices.Sort(t)
	stderr *= math.Sqrt(1 - float64(n)/float64(population))
	law := distuv.StudentsT{Sigma: 1, Nu: float64(len(r.heads) * (n - 1))}
	below, above := (1-confidence)*shareBelow, (1-confidence)*shareAbove
	low = estimate - stderr*max(t[samples-int(below*float64(samples+1))], law.Quantile(1-below))
	high = estimate - stderr*min(t[int(above*float64(samples+1))-1], law.Quantile(above))
	return r.unit * max(low, 0), r.unit * high
}

// skewedInterval returns an interval as interval does, from above and with less room. It takes much
// less time.
func (r *ratio) skewedInterval(population int, confidence float64, _ *rand.Rand) (low, high float64) {
	outside := (1 - confidence) / 2
	return r.widen(r.above(population, 1-outside), r.above(population, outside), population, confidence, 0)
}

// above returns a bound that the error exceeds with a probability, as an end of a t interval of the
// logarithm of the error. Upper ends have the correction of [Johnson 1978] for skewness.
func (r *ratio) above(population int, probability float64) float64 {
	estimate, stderr := root(r.heads)
	n := float64(len(r.heads[0]))
	if int(n) == population || stderr <= 1e-12*estimate {
		return r.unit * estimate
	}
	if n == 1 {
		return math.Inf(1)
	}
	var squares, cubes float64
	for _, s := range r.heads[0] {
		e := s[0] - estimate*estimate*s[1]
		squares += e * e
		cubes += e * e * e
	}
	t := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(1 - probability)
	if t > 0 {
		skew := cubes / squares / math.Sqrt(squares) // of the mean
		t += max(skew, 0) * (1 + 2*t*t) / 6
	}
	return r.unit * estimate * math.Exp(t*stderr/estimate*math.Sqrt(1-n/float64(population)))
}

// resamples returns the number of bootstrap samples of an interval plus one.
func resamples(confidence float64) int {
	return max(minResamples, int(math.Ceil(resamplesOutside/(1-confidence))))
}

// studentised returns the distance of the root over resampled rows from the estimate, in standard
// errors.
func studentised(rows [][][2]float64, estimate float64) float64 {
	r, stderr := root(rows)
	switch {
	case stderr > 0:
		return (r - estimate) / stderr
	case r < estimate: // rows without error, or one row again and again
		return math.Inf(-1)
	case r == estimate:
		return 0
	default:
		return math.Inf(1)
	}
}

// rare bounds the largest measure of a row outside the sample, relative to the sum over all rows,
// for population rows of each head. A measure takes the squared error of a row, scaled so that its
// sum is the sum of sizes, and the squared size. rare returns the smallest bound of the measures.
func (r *ratio) rare(population int, confidence, margin float64, measures ...func(e, size float64) float64) float64 {
	rows := slices.Concat(r.heads...)
	var y, x float64
	for _, s := range rows {
		y += s[0]
		x += s[1]
	}
	smallest := math.Inf(1)
	for _, measure := range measures {
		values := make([]float64, len(rows))
		for i, s := range rows {
			values[i] = measure(s[0]*x/y, s[1])
		}
		n, all := float64(len(values)), float64(population*len(r.heads))
		smallest = min(smallest, (1-n/all)*maximumOf(values, all, confidence, margin)/(all/n*x))
	}
	return smallest
}

// maximumOf bounds the maximum of a population of size all with a confidence, from a sample that it
// sorts. maximumOf assumes that values above a threshold have the law of Pareto, with Hill's index
// of the sample [Hill 1975] plus margin standard errors. maximumOf returns +Inf if few values are
// larger than the mean.
func maximumOf(sample []float64, all, confidence, margin float64) float64 {
	slices.Sort(sample)
	n := float64(len(sample))
	largest := sample[max(len(sample)-max(int(tailShare*n), minTail), 0):]
	threshold := max(largest[0], floats.Sum(sample)/n)
	from, _ := slices.BinarySearch(largest, threshold)
	tail := largest[from:]
	if 3*len(tail) < len(largest) {
		return math.Inf(1)
	}
	index, count := 0.0, float64(len(tail))
	for _, x := range tail {
		index += math.Log(x/threshold) / count
	}
	index *= 1 + margin/math.Sqrt(count)
	return threshold * math.Pow(count/n*all/(1-confidence), index)
}
