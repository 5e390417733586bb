package quantise

import (
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/scan"
)

// bitNoise are the variances of the estimate of a cosine of 0 from codes of 0 to 8 bits, times the
// dimension: ‖s‖²‖u‖²/(sᵀu)² − 1 for the best equal steps and normal coordinates.
var bitNoise = [...]float64{1, 0.5707, 0.1349, 0.03889, 0.01166, 0.003491, 0.001025, 0.0002885, 0.00007174}

// The least relative gains of numbers of bits. Estimates from equal bits have no bias. Even bits
// have a part of a row less than odd ones, and a search takes longer for each part.
const (
	leastGain      = 0.05 // of different numbers of bits over equal bits
	leastGainOfOdd = 0.25 // of odd numbers over even ones
)

// alignedLoss is the relative loss at which allocate takes parts that kernels read faster.
const alignedLoss = 0.1

type allocation struct {
	variances []float64 // the sums of the variances of the coordinates of a segment
	weights   []float64 // of the errors of a segment
	sizes     []int
	bits      []int
	step      int    // the difference of bits of a move
	aligned   bool   // parts have 1, 2, 4 or a multiple of 8 words
	elements  [9]int // the elements of the part of each width
	total     int    // the bits of a row
}

// allocate returns the bits of segments, which share the words of a row, such that Σ
// weight·variance·bitNoise[bits] is small. Queries like the rows have weights variance/size, and
// queries of random directions equal ones. The weights are the root of the first if equal bits are
// 2 or more: with fewer, near rows would have large biases. allocate moves bits between segments
// as if parts had no padding, takes bits away until the parts fit, and moves bits again. Segments
// have equal bits if others gain little, for these variances or for those of learned rows, which a
// small sample overfits, or if some of rows, which have the energies of a row in each segment, lose
// much, as rows do of which each has another few coordinates.
func allocate(rows dense.Matrix[float64], variances, learned []float64, sizes []int, words int) []int {
	a := &allocation{variances: variances, weights: make([]float64, len(sizes)), sizes: sizes, bits: make([]int, len(sizes))}
	fits := func() bool { return a.words() <= words }
	for equal := 8; equal >= 0; equal-- {
		for s := range sizes {
			a.set(s, equal)
		}
		if fits() {
			break
		}
	}
	best, equal, few := slices.Clone(a.bits), a.bits[0] > 0, a.bits[0] < 2
	for s, v := range variances {
		if a.weights[s] = 1; !few {
			a.weights[s] = math.Sqrt(v / float64(sizes[s]))
		}
	}
	for _, try := range []struct {
		step    int
		aligned bool
		most    float64 // the noise over that of best
	}{{2, false, 1 - leastGain}, {2, true, 1 + alignedLoss}, {1, false, 1 - leastGainOfOdd}} {
		if try.aligned && (equal || few) {
			continue
		}
		a.step, a.aligned = try.step, try.aligned
		for s, b := range a.bits {
			a.set(s, b/a.step*a.step)
		}
		a.climb(func() bool { return a.total <= 64*words })
		for !fits() {
			a.shrink()
		}
		a.climb(fits)
		if slices.Max(best) == 0 || a.noise(variances, a.bits) <= try.most*a.noise(variances, best) &&
			a.noise(learned, a.bits) <= try.most*a.noise(learned, best) && a.highNoise(rows, a.bits) <= max(1, try.most)*a.highNoise(rows, best) {
			best, equal = slices.Clone(a.bits), false
		}
	}
	return best
}

func (a *allocation) set(s, to int) {
	from := a.bits[s]
	for width := 1; width <= 8; width *= 2 {
		a.elements[width] += a.sizes[s] * (to&width - from&width) / width
	}
	a.total += a.sizes[s] * (to - from)
	a.bits[s] = to
}

func (a *allocation) words() (n int) {
	for width := 1; width <= 8; width *= 2 {
		w, unit := scan.Words(a.elements[width], width), 1
		for a.aligned && unit < min(w, 8) {
			unit *= 2
		}
		n += (w + unit - 1) / unit * unit
	}
	return n
}

func (a *allocation) noiseOf(s, bits int) float64 {
	return a.variances[s] * a.weights[s] * bitNoise[bits]
}

func (a *allocation) noise(variances []float64, bits []int) (sum float64) {
	for s, b := range bits {
		sum += variances[s] * a.weights[s] * bitNoise[b]
	}
	return sum
}

// highNoise returns the mean of the noise of rows plus twice the standard deviation.
func (a *allocation) highNoise(rows dense.Matrix[float64], bits []int) float64 {
	mean, square := 0.0, 0.0
	for i := range rows.Rows {
		noise := a.noise(rows.Row(i), bits)
		mean, square = mean+noise/float64(rows.Rows), square+float64(noise*noise)/float64(rows.Rows)
	}
	return mean + 2*math.Sqrt(max(0, square-float64(mean*mean)))
}

// shrink takes the step of bits with the least gain away.
func (a *allocation) shrink() {
	at, least := 0, math.Inf(1)
	for s, b := range a.bits {
		if b >= a.step {
			if loss := (a.noiseOf(s, b-a.step) - a.noiseOf(s, b)) / float64(a.sizes[s]); loss < least {
				at, least = s, loss
			}
		}
	}
	a.set(at, a.bits[at]-a.step)
}

// climb gives or moves a step of bits while the noise decreases and the bits fit.
func (a *allocation) climb(fits func() bool) {
	for {
		up, down, best := -1, -1, 1e-9*a.noise(a.variances, a.bits)
		for s, b := range a.bits {
			if b+a.step > 8 {
				continue
			}
			gain := a.noiseOf(s, b) - a.noiseOf(s, b+a.step)
			if gain <= best {
				continue
			}
			a.set(s, b+a.step)
			if fits() {
				up, down, best = s, -1, gain
			}
			for t, c := range a.bits {
				if c < a.step || t == s {
					continue
				}
				if net := gain + a.noiseOf(t, c) - a.noiseOf(t, c-a.step); net > best {
					if a.set(t, c-a.step); fits() {
						up, down, best = s, t, net
					}
					a.set(t, c)
				}
			}
			a.set(s, b)
		}
		if up < 0 {
			return
		}
		a.set(up, a.bits[up]+a.step)
		if down >= 0 {
			a.set(down, a.bits[down]-a.step)
		}
	}
}
