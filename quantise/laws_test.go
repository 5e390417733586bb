package quantise_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/quantise"
)

// deviation is a sample with its law.
type deviation struct {
	mean, variance float64 // by law
	values         []float64
	// group is the number of values in a row of one rotation, 0 for 1. Means of groups are
	// independent.
	group int
}

// z returns how many standard errors mean and variance are from the law.
func (d deviation) z() (mean, variance float64) {
	var errors, squares []float64
	for group := range slices.Chunk(d.values, max(d.group, 1)) {
		var e, ee float64
		for _, v := range group {
			e += v - d.mean
			ee += (v - d.mean) * (v - d.mean)
		}
		errors, squares = append(errors, e/float64(len(group))), append(squares, ee/float64(len(group))-d.variance)
	}
	z := func(values []float64) float64 {
		mean, spread := stat.PopMeanStdDev(values, nil)
		return mean / stat.StdErr(spread, float64(len(values)))
	}
	return z(errors), z(squares)
}

func (d deviation) check(t *testing.T, what string) {
	t.Helper()
	mean, variance := d.z()
	assert.Less(t, math.Abs(mean), 4.0, "%s: mean, z = %.1f", what, mean)
	assert.Less(t, math.Abs(variance), 4.0, "%s: variance, z = %.1f", what, variance)
}

const lawDraws = 10_000

func draws() int {
	if testing.Short() {
		return lawDraws / 20
	}
	return lawDraws
}

// estimate encodes the rows of x anew and appends the estimated cosines with y to values.
func estimate(values []float64, q quantise.Quantiser[float64], x dense.Matrix[float64], y []float64) []float64 {
	c, err := q.Encode(context.Background(), x)
	if err != nil {
		panic(err)
	}
	return append(values, estimates(c, nil, y, quantise.Cosine)...)
}

// pair returns a row of length 1 and a query of length 1 with a cosine, in the plane of two axes.
func pair(d int, cosine float64) (x dense.Matrix[float64], y []float64) {
	x, y = dense.New[float64](1, d), make([]float64, d)
	x.Data[0], y[0], y[1] = 1, cosine, math.Sqrt(1-cosine*cosine)
	return x, y
}

// lawRows is how many rows, at one angle to a query in planes that are orthogonal otherwise, are
// encoded with one rotation.
const lawRows = 8

// Mean and variance of estimates worth 10,000 rotations that are uniformly random: |z| < 4 in 36
// comparisons, a false alarm in 440 of such tests. The rows of a rotation are worth as many
// rotations as the variance of an error, or of its square, is of that of the mean over the rows.
func TestEstimatesFollowTheLaws(t *testing.T) {
	for d, at := range map[int]struct{ cosine, worth float64 }{64: {0.9, 1.7}, 128: {0.6, 5.5}, 768: {-0.3, 7.4}} {
		cosine := at.cosine
		t.Run(fmt.Sprintf("d=%d", d), func(t *testing.T) {
			t.Parallel()
			space, x, y := quantise.NewHaar(d, 1+lawRows, 1), dense.New[float64](lawRows, d), make([]float64, d)
			y[0] = 2
			for i := range lawRows {
				x.Set(i, 0, 3*cosine)
				x.Set(i, i+1, 3*math.Sqrt(1-cosine*cosine))
			}
			all := options(1, 2, 4)
			quantisers, samples := make([]quantise.Quantiser[float64], len(all)), make([]deviation, len(all))
			for i, o := range all {
				quantisers[i] = newQuantiser[float64](t, d, o)
				quantise.Rotate(quantisers[i], space)
				samples[i].group = lawRows
				samples[i].mean, samples[i].variance = quantisers[i].Theory(cosine)
			}
			for range int(float64(draws()) / at.worth) {
				space.Draw()
				for j, q := range quantisers {
					samples[j].values = estimate(samples[j].values, q, x, y)
				}
			}
			for i, o := range all {
				samples[i].check(t, fmt.Sprint(o))
			}
		})
	}
}

// Estimates that are not divided by sᵀu are caught.
func TestFaultsAreCaught(t *testing.T) {
	const d, cosine = 64, 0.9
	plane := quantise.NewHaar(d, 2, 5)
	x, y := pair(d, cosine)
	for _, o := range options(1, 2, 4) {
		var s deviation
		q := newQuantiser[float64](t, d, o)
		quantise.Rotate(q, plane)
		s.mean, s.variance = q.Theory(cosine)
		for range lawDraws / 10 {
			plane.Draw()
			c := codesOf(t, q, x)
			quantise.DropCorrection(c)
			s.values = append(s.values, estimates(c, nil, y, quantise.Cosine)[0])
		}
		mean, _ := s.z()
		assert.Greater(t, math.Abs(mean), 8.0, "%v", o)
	}
}

// The mean of (error/StdErr)² is 1 in every dimension, for normal rows, for rows of one coordinate,
// and with Learn for rows about a mean: within 0.1 and 4 standard errors over rotations. The mean
// may be smaller where errors are only the rounding of the query: in R^1, and with Learn in R²,
// where a mean leaves one direction.
func TestLawInEveryDimension(t *testing.T) {
	const n, most = 8, 64
	ends := []int{24, 32, 48, most + 1} // of dimensions that are tested together, from 16 on
	for _, kind := range []string{"normal", "one-hot", "mean"} {
		for i, bits := range []float64{1, 2, 4, 8, 1, 3} {
			learns, laws := i > 3, []float64(nil)
			for d := 1; d <= most; d++ {
				rng, draws := rand.New(rand.NewPCG(1, uint64(d))), 3
				switch {
				case d < 16 && learns:
					draws, laws = 12, laws[:0]
				case d < 16:
					draws, laws = 24, laws[:0]
				}
				if learns && d > 16 && d%4 != 3 || !learns && kind == "mean" {
					continue
				}
				fill := func(n int) dense.Matrix[float64] {
					switch kind {
					case "normal":
						return densetest.Normal[float64](rng, n, d, 0, 1)
					case "mean":
						return densetest.Normal[float64](rng, n, d, 3, 1)
					}
					x := dense.New[float64](n, d)
					for i := range n {
						x.Set(i, rng.IntN(d), 1)
					}
					return x
				}
				var q quantise.Quantiser[float64]
				if !learns {
					q = newQuantiser[float64](t, d, quantise.Options{Bits: bits})
				}
				for range draws {
					if learns {
						q = learned(t, fill(4*d+50), bits, rng.Uint64())
					} else {
						quantise.DrawRotation(q, rng)
					}
					x, queries := fill(n), densetest.Normal[float64](rng, n, d, 0, 1)
					_, law := errorAndLaw(codesOf(t, q, x), x, queries, quantise.InnerProduct)
					laws = append(laws, law)
				}
				if d > 15 && !slices.Contains(ends, d+1) {
					continue
				}
				mean, spread := stat.MeanStdDev(laws, nil)
				slack := 0.1 + 4*spread/math.Sqrt(float64(len(laws)))
				what := fmt.Sprintf("d = %d, %v bits, %s, Learn %v", d, bits, kind, learns)
				assert.Less(t, mean, 1+slack, what)
				if d > 2 || d > 1 && !learns {
					assert.Greater(t, mean, 1-slack, what)
				}
				laws = laws[:0]
			}
		}
	}
}
