package quantise_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
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

// A rotation by Hadamard factors is only nearly uniform. Over 2,500 of them estimates for vectors
// without large coordinates follow the laws all the same, and so do those for vectors of one and two
// coordinates: |z| < 4 in 24 comparisons, a false alarm in 650 of such tests.
func TestHadamardRotationsFollowTheLaws(t *testing.T) {
	for _, d := range []int{64, 128, 768} {
		for _, sparse := range []bool{false, true} {
			t.Run(fmt.Sprintf("d=%d/sparse=%v", d, sparse), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(4, uint64(d)))
				x, y, all := dense.New[float64](1, d), make([]float64, d), options(1, 4)
				for i := range d {
					x.Data[i] = rng.NormFloat64()
					y[i] = x.Data[i] + rng.NormFloat64()
				}
				if sparse {
					x, y = pair(d, 0.6)
				}
				cosine := floats.Dot(x.Data, y) / (floats.Norm(x.Data, 2) * floats.Norm(y, 2))
				quantisers, samples := make([]quantise.Quantiser[float64], len(all)), make([]deviation, len(all))
				for i, o := range all {
					quantisers[i] = newQuantiser[float64](t, d, o)
					samples[i].mean, samples[i].variance = quantisers[i].Theory(cosine)
				}
				for range draws() / 4 {
					r, err := hadamard.NewRotation[float64](d, hadamard.RotationOptions{}, rng)
					require.NoError(t, err)
					for i, q := range quantisers {
						quantise.Rotate(q, r)
						samples[i].values = estimate(samples[i].values, q, x, y)
					}
				}
				for i, o := range all {
					samples[i].check(t, fmt.Sprint(o))
				}
			})
		}
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

// centredLaw has x, q and c in the space of four axes, and the law of an estimate of each measure.
type centredLaw struct {
	x, centres dense.Matrix[float64]
	query      []float64
}

func newCentredLaw(d int) centredLaw {
	l := centredLaw{dense.New[float64](1, d), dense.New[float64](2, d), make([]float64, d)}
	copy(l.x.Data, []float64{7.5, 1.2, 0.4, -0.3})
	copy(l.centres.Row(0), []float64{7, 1.5})
	copy(l.centres.Row(1), []float64{-3, 0, 9})
	copy(l.query, []float64{7.6, 0.8, -0.2, 0.5})
	return l
}

// law returns mean and variance of the estimate of a measure.
func (l centredLaw) law(q quantise.Quantiser[float64], by quantise.Measure) (mean, variance float64) {
	x, c := l.x.Row(0), l.centres.Row(0)
	a, p := slices.Clone(x), slices.Clone(l.query)
	floats.Sub(a, c)
	floats.AddScaled(p, -floats.Dot(l.query, c)/floats.Dot(c, c), c)
	scale := floats.Norm(a, 2) * floats.Norm(p, 2)
	cosine := floats.Dot(a, p) / scale
	mean, variance = q.Theory(cosine)
	switch by {
	case quantise.SquaredDistance:
		scale *= -2
	case quantise.Cosine:
		scale /= floats.Norm(x, 2) * floats.Norm(l.query, 2)
	}
	return truth(by, x, l.query) + scale*(mean-cosine), scale * scale * variance
}

// Mean and variance of estimates with centres over 5,000 rotations that are uniformly random: |z|
// < 4 in 18 comparisons, a false alarm in 870 of such tests. Codes without (x−c)ᵀc, and queries
// from which t·c is not taken whole, are caught.
func TestCentredEstimatesFollowTheLaws(t *testing.T) {
	const d = 64
	l, space, n := newCentredLaw(d), quantise.NewHaar(d, 4, 5), draws()/2
	all := options(1, 2, 4)
	samples, plain := make([][3]deviation, len(all)), make([]quantise.Quantiser[float64], len(all))
	for i, o := range all {
		plain[i] = newQuantiser[float64](t, d, o)
		quantise.Rotate(plain[i], space)
	}
	var dropped, shrunk deviation
	var squares [3]float64
	for draw := range n {
		space.Draw()
		for i, o := range all {
			q, err := plain[i].WithCentres(l.centres)
			require.NoError(t, err)
			c := codesOf(t, q, l.x)
			for k, by := range measures {
				s := &samples[i][k]
				if draw == 0 {
					s.mean, s.variance = l.law(q, by)
				}
				e := c.Estimates(make([]quantise.Estimate, 1), q.Prepare(nil, l.query, by, 0), nil)[0]
				s.values = append(s.values, e.Value)
				if o == all[1] {
					squares[k] += math.Pow((e.Value-truth(by, l.x.Row(0), l.query))/e.StdErr, 2) / float64(n)
				}
			}
			if o != all[2] || draw >= 2000 {
				continue
			}
			quantise.DropCentreProducts(c)
			dropped.values = append(dropped.values, estimates(c, nil, l.query, quantise.SquaredDistance)[0])
			quantise.ShrinkCentres(q)
			shrunk.values = append(shrunk.values, estimates(codesOf(t, q, l.x), nil, l.query, quantise.InnerProduct)[0])
		}
	}
	for i, o := range all {
		for k := range measures {
			samples[i][k].check(t, fmt.Sprintf("%v, measure %d", o, k))
		}
	}
	for k := range measures {
		assert.InDelta(t, 1, squares[k], 5*math.Sqrt(2/float64(n)), "standard errors of measure %d", k)
	}
	dropped.mean, shrunk.mean = truth(quantise.SquaredDistance, l.x.Row(0), l.query), truth(quantise.InnerProduct, l.x.Row(0), l.query)
	for _, s := range []deviation{dropped, shrunk} {
		z, _ := s.z()
		assert.Greater(t, math.Abs(z), 8.0)
	}
}
