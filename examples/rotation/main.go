// Rotation reuses the Hadamard rotation outside attention: to quantise vectors.
//
// Activations of large networks have a few channels that are far larger than the rest. Rounded to 8
// or 4 bits with one step a vector, those channels make the step so coarse that all others become
// zero. A random rotation spreads the large channels over all coordinates, and is undone after
// rounding.
package main

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"

	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/cli"
	"github.com/seed-feabd252/randfeat/examples/internal/table"
	"github.com/seed-feabd252/randfeat/hadamard"
)

const about = `rotation quantises vectors that have outlier channels, with and without a random Hadamard rotation.

The vectors are standard normal, except that a few channels, the same in all vectors, are -factor times as large.
Each vector is rounded to integer multiples of max|x|/(2^(bits-1)-1). With the rotation, Rx is rounded, and the
rounded vector is multiplied by Rᵀ. R = H·D/√d' is one factor of random signs and a Hadamard matrix, applied in
O(d' log d') time. R pads d with zeros to the next order d' of a Hadamard matrix, and d' numbers are stored.

Without the rotation the largest channel sets the step, however small the other channels are. After it all coordinates are
about as large as ‖x‖/√d', and the step is a few times larger. R keeps norms and inner products, so that the rounded
vectors give both without a rotation back.`

func main() { cli.Main("rotation", run) }

// settings are the flags.
type settings struct {
	vectors, outliers int
	factor            float64
	seed              uint64
	plot              string
}

// dimensions are the dimensions of the table: powers of two, 12 times a power of two, which needs
// no padding either, and 1000, which needs padding.
var dimensions = []int{256, 768, 1000, 1024, 1536}

// widths are the numbers of bits of the table.
var widths = []int{8, 4}

func run(args []string, stdout io.Writer) error {
	var s settings
	fs := cli.NewFlags("rotation")
	fs.IntVar(&s.vectors, "n", 256, 1, 50_000, "vectors of each dimension")
	fs.IntVar(&s.outliers, "outliers", 4, 0, dimensions[0]-1, "outlier channels")
	fs.Float64Var(&s.factor, "factor", 30, 1e-6, 1e6, "how much larger the outlier channels are")
	fs.Uint64Var(&s.seed, "seed", 1, "seed of all randomness; the same seed gives the same table")
	fs.OutputVar(&s.plot, "plot", "", "picture of the errors against d", cli.Pictures...)
	if done, err := fs.Parse(about, args, stdout); done || err != nil {
		return err
	}
	fmt.Fprintf(stdout, `Quantisation of %d vectors with %d channels %g times as large as the others, one step a vector

error   ‖result − x‖ / ‖x‖ over all vectors
other   the same over the channels that are no outliers: 1 means that these channels are lost
stored  numbers stored divided by d: a rotation works in the next order of a Hadamard matrix
gain    error without the rotation over error with it

`, s.vectors, s.outliers, s.factor)
	t := table.New(0,
		"d", "bits", "unrotated: error", "other", "rotated: error", "other", "stored", "gain", "gain, other")
	rows, err := s.measure(exprand.NewSource(s.seed))
	if err != nil {
		return err
	}
	for _, r := range rows {
		t.Row(fmt.Sprint(r.d), fmt.Sprint(r.bits),
			fmt.Sprintf("%.4f", r.unrotated.all), fmt.Sprintf("%.4f", r.unrotated.other),
			fmt.Sprintf("%.4f", r.rotated.all), fmt.Sprintf("%.4f", r.rotated.other),
			fmt.Sprintf("%.2f", float64(r.stored)/float64(r.d)),
			fmt.Sprintf("%.1f×", r.unrotated.all/r.rotated.all), fmt.Sprintf("%.1f×", r.unrotated.other/r.rotated.other))
	}
	if err := t.Fprint(stdout); err != nil {
		return err
	}
	return cli.Save(stdout, "picture of the errors", s.plot, s.picture(rows).Save)
}

// measure returns the rows of all dimensions.
func (s settings) measure(src rand.Source) ([]result, error) {
	var all []result
	for _, d := range dimensions {
		rows, err := s.compare(d, src)
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// result is a row of the table.
type result struct {
	d, bits, stored    int
	unrotated, rotated relative
}

// relative holds relative errors over all channels, and over the channels that are no outliers.
type relative struct{ all, other float64 }

// compare quantises vectors of dimension d in both ways.
func (s settings) compare(d int, src rand.Source) ([]result, error) {
	x, outlier := s.draw(d, src)
	r, err := hadamard.NewRotation[float32](d, hadamard.RotationOptions{Factors: 1}, src)
	if err != nil {
		return nil, err
	}
	_, stored := r.Dims()
	var rows []result
	for _, bits := range widths {
		unrotated := x.Clone()
		quantise(unrotated, bits)
		rotated := r.Apply(dense.Matrix[float32]{}, x)
		quantise(rotated, bits)
		back := r.ApplyTransposed(dense.Matrix[float32]{}, rotated)
		rows = append(rows, result{
			d: d, bits: bits, stored: stored,
			unrotated: distance(unrotated, x, outlier), rotated: distance(back, x, outlier),
		})
	}
	return rows, nil
}

// draw returns vectors (n×d) and which of their channels are outliers.
func (s settings) draw(d int, src rand.Source) (x dense.Matrix[float32], outlier []bool) {
	normal := distuv.Normal{Sigma: 1, Src: src}
	outlier = make([]bool, d)
	for _, j := range rand.New(src).Perm(d)[:s.outliers] {
		outlier[j] = true
	}
	x = dense.New[float32](s.vectors, d)
	for i := range x.Data {
		v := normal.Rand()
		if outlier[i%d] {
			v *= s.factor
		}
		x.Data[i] = float32(v)
	}
	return x, outlier
}

// quantise rounds every row to integer multiples of max|x|/(2^(bits−1) − 1).
func quantise(x dense.Matrix[float32], bits int) {
	levels := float64(int(1)<<(bits-1) - 1)
	for i := range x.Rows {
		row := x.Row(i)
		var peak float64
		for _, v := range row {
			peak = max(peak, math.Abs(float64(v)))
		}
		if peak == 0 {
			continue
		}
		step := peak / levels
		for j, v := range row {
			row[j] = float32(math.RoundToEven(float64(v)/step) * step)
		}
	}
}

// distance returns ‖y − x‖/‖x‖.
func distance(y, x dense.Matrix[float32], outlier []bool) relative {
	var diff, size [2]float64 // of all channels, of the others
	for i := range x.Rows {
		for j, v := range x.Row(i) {
			e, v := float64(y.At(i, j))-float64(v), float64(v)
			diff[0], size[0] = diff[0]+e*e, size[0]+v*v
			if !outlier[j] {
				diff[1], size[1] = diff[1]+e*e, size[1]+v*v
			}
		}
	}
	return relative{all: math.Sqrt(diff[0] / size[0]), other: math.Sqrt(diff[1] / size[1])}
}
