package densetest_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
)

func testRoundoff[T dense.Float](t *testing.T) {
	u := densetest.Roundoff[T]()
	assert.Greater(t, T(1)+T(2*u), T(1), "the next number after 1")
	assert.Equal(t, T(1), T(1)+T(u), "half way to the next number: to even")
}

func TestRoundoff(t *testing.T) {
	densetest.Both(t, testRoundoff[float32], testRoundoff[float64])
}

// TestIdentical: a comparison that finds no difference would pass every test.
func TestIdentical(t *testing.T) {
	nan, zero := math.NaN(), 0.0
	x := dense.Of(1, 3, []float64{1, nan, zero})
	assert.True(t, densetest.Identical(x, x.Clone()))
	for _, y := range []dense.Matrix[float64]{
		dense.Of(1, 3, []float64{1 + 0x1p-52, nan, zero}),
		dense.Of(1, 3, []float64{1, 0, zero}),
		dense.Of(1, 3, []float64{nan, nan, zero}),
		dense.Of(1, 3, []float64{1, nan, math.Copysign(0, -1)}),
		dense.Of(3, 1, []float64{1, nan, zero}),
	} {
		assert.False(t, densetest.Identical(x, y), "%v", y)
	}
}

func TestDistances(t *testing.T) {
	a, b := dense.Of(2, 2, []float64{3, 4, 0, 1}), dense.Of(2, 2, []float64{0, 0, 0, 2})
	assert.InDelta(t, math.Sqrt(26.0/4), densetest.Distance(a, b), 1e-15)
	assert.Equal(t, []float64{1, 1}, densetest.RelativeErrors(b, a))
	assert.Equal(t, []float64{math.Inf(1), 0.5}, densetest.RelativeErrors(a, b))
	for i := range 3 {
		row := densetest.Sphere[float64](rand.New(densetest.Source(1)), 3, 5, 7).Row(i)
		assert.InDelta(t, 7, densetest.Distance(dense.Of(1, 5, row), dense.New[float64](1, 5))*math.Sqrt(5), 1e-14)
	}
}

// recorder keeps what a test that it stands for would fail with.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper() {}

func (r *recorder) Fatalf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// TestRequireClose: a bound that held nothing back would pass every test.
func TestRequireClose(t *testing.T) {
	want, tol := dense.Of(1, 2, []float64{1, 2}), dense.Of(1, 2, []float64{0.5, 0})
	failures := func(got ...float64) []string {
		r := &recorder{TB: t}
		densetest.RequireClose(r, want, tol, dense.Of(1, 2, got), "sum %d", 3)
		return r.failures
	}
	assert.Empty(t, failures(1.5, 2))
	assert.Equal(t, []string{"sum 3: (0, 0) is 1.75, want 1 ± 0.5"}, failures(1.75, 2))
	assert.Equal(t, []string{"sum 3: (0, 1) is NaN, want 2 ± 0"}, failures(1, math.NaN()))
	assert.Len(t, failures(math.Inf(1), math.Inf(-1)), 2)

	r := &recorder{TB: t}
	densetest.RequireClose(r, dense.Of(1, 0, []float64{}), dense.Matrix[float64]{}, dense.Of(1, 2, []float32{1, 2}), "sum")
	assert.Equal(t, []string{"sum: is 1×2, want 1×0"}, r.failures)
}
