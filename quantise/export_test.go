package quantise

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
)

// Rotate gives a quantiser another rotation.
func Rotate[T dense.Float](public Quantiser[T], r rotation[T]) { public.(*quantiser[T]).rotation = r }

// DrawRotation gives a quantiser another rotation of New.
func DrawRotation[T dense.Float](public Quantiser[T], src rand.Source) {
	q := public.(*quantiser[T])
	q.rotation, _ = rotationOf[T](q.in, q.out, src)
}

// Haar is a uniformly random rotation of R^d, restricted to the space of the first axes. Draw makes
// another one.
type Haar struct {
	axes [][]float64 // R times each axis
	rng  *rand.Rand
}

// NewHaar returns a rotation of R^d for n axes.
func NewHaar(d, n int, seed uint64) *Haar {
	h := &Haar{make([][]float64, n), rand.New(rand.NewPCG(seed, 11))}
	for i := range h.axes {
		h.axes[i] = make([]float64, d)
	}
	h.Draw()
	return h
}

// Draw draws another rotation.
func (h *Haar) Draw() {
	for i, v := range h.axes {
		for j := range v {
			v[j] = h.rng.NormFloat64()
		}
		for range 2 {
			for _, w := range h.axes[:i] {
				floats.AddScaled(v, -floats.Dot(v, w), w)
			}
		}
		floats.Scale(1/floats.Norm(v, 2), v)
	}
}

// Apply is the method of a rotation.
func (h *Haar) Apply(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
	dst = dense.Ensure(dst, x.Rows, len(h.axes[0]))
	for i := range x.Rows {
		row := dst.Row(i)
		clear(row)
		for k, axis := range h.axes {
			if v := x.At(i, k); v != 0 {
				floats.AddScaled(row, v, axis)
			}
		}
	}
	return dst
}

// ApplyTransposed is the method of a rotation.
func (h *Haar) ApplyTransposed(_, _ dense.Matrix[float64]) dense.Matrix[float64] {
	panic("not used")
}

// DropCorrection replaces the division by sᵀu by that by ‖s‖.
func DropCorrection[T dense.Float](public Codes[T]) {
	c := public.(*codes[T])
	for _, b := range c.rows().clusters[0].blocks {
		for i := range b.numbers[ratios] {
			square := float64(c.q.out)
			if v := b.numbers[variances]; v != nil {
				square = (1 + float64(v[i])) / math.Pow(float64(b.numbers[ratios][i]), 2)
			}
			b.numbers[ratios][i] = float32(1 / math.Sqrt(square))
		}
	}
}

// Label returns the number of the centre of a row, 0 for none.
func Label[T dense.Float](c Codes[T], row int) int { return c.(*codes[T]).rows().label(row) }

// Bands returns the sizes and the bits of the bands of a quantiser.
func Bands[T dense.Float](q Quantiser[T]) (sizes, bits []int) {
	if q := q.(*quantiser[T]); q.bands == nil {
		return []int{q.out}, []int{q.width}
	}
	for _, b := range q.(*quantiser[T]).bands.list {
		sizes, bits = append(sizes, b.Size), append(bits, b.Bits)
	}
	return sizes, bits
}

// HasMean reports whether a quantiser subtracts a mean.
func HasMean[T dense.Float](q Quantiser[T]) bool { return q.(*quantiser[T]).mean != nil }

// Expected returns the mean of the estimate of xᵀy that combine states, for a quantiser of Learn
// without a mean.
func Expected(public Quantiser[float64], x, y []float64) (mean float64) {
	q := public.(*quantiser[float64])
	turn := func(v []float64) []float64 {
		return q.rotation.Apply(dense.Matrix[float64]{}, dense.Of(1, len(v), v)).Data
	}
	u, v, all := turn(x), turn(y), make([]bandSums, len(q.bands.list))
	writeBands(make([]uint8, len(x)), all, q.bands, u, floats.Norm(u, 2))
	ratio, at := q.bands.ratio(all), 0
	for k, b := range q.bands.list {
		short, _ := b.errors(all[k], ratio)
		mean += (1 - short) * floats.Dot(u[at:at+b.Size], v[at:at+b.Size])
		at += b.Size
	}
	return mean
}

// MoreNoise makes a quantiser believe in errors of the wrong size.
func MoreNoise[T dense.Float](public Quantiser[T]) {
	for k := range public.(*quantiser[T]).bands.list {
		public.(*quantiser[T]).bands.list[k].Noise *= 1.5
	}
}
