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

type allocation struct {
	variances []float64 // the sums of the variances of the coordinates of a segment
	sizes     []int
	bits      []int
	step      int    // the difference of bits of a move
	elements  [9]int // the elements of the part of each width
	total     int    // the bits of a row
}

// allocate returns the bits of segments, which share the words of a row, such that Σ
// variance·bitNoise[bits] is small. It moves bits between segments as if parts had no padding,
// takes bits away until the parts fit, and moves bits again. Segments have equal bits if others
// gain little, for these variances or for those of learned rows, which a small sample overfits, or
// if some of rows, which have the energies of a row in each segment, lose much, as rows do of which
// each has another few coordinates.
func allocate(rows dense.Matrix[float64], variances, learned []float64, sizes []int, words int) []int {
	a := &allocation{variances: variances, sizes: sizes, bits: make([]int, len(sizes))}
	fits := func() bool { return a.words() <= words }
	for equal := 8; equal >= 0; equal-- {
		for s := range sizes {
			a.set(s, equal)
		}
		if fits() {
			break
		}
	}
	best, gain := slices.Clone(a.bits), leastGain
	for a.step = 2; a.step > 0; a.step-- {
		for s, b := range a.bits {
			a.set(s, b/a.step*a.step)
		}
		a.climb(func() bool { return a.total <= 64*words })
		for !fits() {
			a.shrink()
		}
		a.climb(fits)
		if slices.Max(best) == 0 || totalNoise(variances, a.bits) <= (1-gain)*totalNoise(variances, best) &&
			totalNoise(learned, a.bits) <= (1-gain)*totalNoise(learned, best) && highNoise(rows, a.bits) <= highNoise(rows, best) {
			best, gain = slices.Clone(a.bits), leastGainOfOdd
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
		n += scan.Words(a.elements[width], width)
	}
	return n
}

func (a *allocation) noiseOf(s, bits int) float64 { return a.variances[s] * bitNoise[bits] }

func totalNoise(variances []float64, bits []int) (sum float64) {
	for s, b := range bits {
		sum += variances[s] * bitNoise[b]
	}
	return sum
}

// highNoise returns the mean of the noise of rows plus twice the standard deviation.
func highNoise(rows dense.Matrix[float64], bits []int) float64 {
	mean, square := 0.0, 0.0
	for i := range rows.Rows {
		noise := totalNoise(rows.Row(i), bits)
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
		up, down, best := -1, -1, 1e-9*totalNoise(a.variances, a.bits)
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
