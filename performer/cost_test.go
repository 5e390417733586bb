package performer

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/simd"
	"github.com/seed-feabd252/randfeat/rff"
)

// Figures by hand.
func TestCosts(t *testing.T) {
	s := Shape{Queries: 100, Keys: 200, Dim: 4, Values: 3, Features: 10, Projected: true}
	assert.Equal(t, Cost{MACs: 100 * 200 * 7, Exps: 20000, Bytes: 4 * (100*7 + 2*200*7)}, s.Exact(), "two blocks of queries")
	assert.Equal(t, Cost{MACs: 300 * 10 * (4 + 4), Exps: 3000, Bytes: 4 * 300 * 7}, s.Linear())
	s.Projected = false
	assert.Equal(t, 300.0*10*4, s.Linear().MACs)
	s.ElementSize = 8
	assert.Equal(t, 8.0*300*7, s.Linear().Bytes)

	s = Shape{Queries: 200, Keys: 200, Dim: 4, Values: 3, Features: 10, Projected: true, Causal: true}
	assert.Equal(t, Cost{MACs: 20100 * 7, Exps: 20100, Bytes: 4 * 7 * (200 + 4*200/2 + 200/2)}, s.Exact(), "blocks see half of the keys, and half a block more")
	assert.Equal(t, 400.0*10*8+200*64*(10+4), s.Linear().MACs)
	s.Queries, s.Keys = 3, 3
	assert.Equal(t, 6.0*10*8+3*3*(10+4), s.Linear().MACs, "a chunk of three")
	assert.Equal(t, 2.5, Cost{MACs: 10, Bytes: 4}.Intensity())
}

// P·(d + dv + e) = 2L·m·(d + dv + 1 + e) has P = L², or nearly L²/2, and is solved
// by hand.
func TestCrossover(t *testing.T) {
	s := Shape{Dim: 64, Values: 64, Features: 256, Projected: true}
	assert.Equal(t, int(math.Ceil(2*256*(129.0+expMACs32)/(128+expMACs32))), Crossover(s))
	s.ElementSize = 8
	assert.Equal(t, int(math.Ceil(2*256*(129.0+expMACs64)/(128+expMACs64))), Crossover(s))
	s = Shape{Dim: 64, Values: 64, Features: 64, Queries: 7, Keys: 9}
	assert.Equal(t, int(math.Ceil(2*64*(65.0+expMACs32)/(128+expMACs32))), Crossover(s), "without projections")
	s = Shape{Dim: 64, Values: 64, Features: 256, Projected: true, Causal: true}
	pair := 128.0 + expMACs32
	want := math.Ceil(2*(2*256*(129+expMACs32)+64*(256+65))/pair - 1)
	assert.Equal(t, int(want), Crossover(s))
	assert.Equal(t, 1, Crossover(Shape{Dim: 4, Values: 4}), "no features, no work")
}

func TestCostPanics(t *testing.T) {
	assert.PanicsWithValue(t, "performer: {Queries:1 Keys:1 Dim:1 Values:1 Features:1 Projected:false Causal:false ElementSize:2}, want an ElementSize of 4 or 8",
		func() { Shape{Queries: 1, Keys: 1, Dim: 1, Values: 1, Features: 1, ElementSize: 2}.Exact() })
	assert.PanicsWithValue(t, "performer: {Queries:1 Keys:2 Dim:0 Values:0 Features:0 Projected:false Causal:true ElementSize:0} is causal, want as many queries as keys",
		func() { Shape{Queries: 1, Keys: 2, Causal: true}.Linear() })
	assert.PanicsWithValue(t, "performer: {Queries:-1 Keys:0 Dim:0 Values:0 Features:0 Projected:false Causal:false ElementSize:0} has a negative dimension",
		func() { Shape{Queries: -1}.Exact() })
}

// At a quarter of the length where linear attention is said to become the faster
// form, exact attention is; at four times that length it is the slower one.
func TestPredictedFormIsFaster(t *testing.T) {
	if testing.Short() || raceDetector || simd.Best == simd.Generic {
		t.Skip("measures time, with the kernels that the constants are for")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	bothTypes(t, testPrediction[float32], testPrediction[float64])
}

func testPrediction[T dense.Float](t *testing.T) {
	const d = 64
	for _, c := range []struct {
		m         rff.Map[T]
		features  int
		projected bool
	}{{positive[T](256, d), 256, true}, {must(rff.ELU[T](d)), d, false}} {
		for _, causal := range []bool{false, true} {
			s := Shape{Dim: d, Values: d, Features: c.features, Projected: c.projected, Causal: causal, ElementSize: int(unsafe.Sizeof(T(0)))}
			linear, exact := attention(c.m, Options{Causal: causal}), Exact[T]{Causal: causal}
			at := Crossover(s)
			for _, n := range []int{at / 4, 4 * at} {
				what := fmt.Sprintf("m = %d, causal %v, crossover %d, L = %d", c.features, causal, at, n)
				// What else runs may hold up one of the two, but hardly five times.
				var ours, theirs time.Duration
				right := false
				for try := 0; try < 5 && !right; try++ {
					ours, theirs = fastest[T](linear, n, d), fastest[T](exact, n, d)
					right = (theirs < ours) == (n < at)
				}
				assert.True(t, right, "%s: linear %v, exact %v", what, ours, theirs)
			}
		}
	}
}

// fastest returns the least time of a few calls, of many if they are short.
func fastest[T dense.Float](form Form[T], n, d int) time.Duration {
	rng := rand.New(source(80))
	q, k, v := gaussian[T](rng, n, d, 0, 0.35), gaussian[T](rng, n, d, 0, 0.35), gaussian[T](rng, n, d, 0, 1)
	dst := dense.New[T](n, d)
	best, began := time.Duration(math.MaxInt64), time.Now()
	for i := 0; i < 5 || time.Since(began) < 50*time.Millisecond; i++ {
		start := time.Now()
		form.Forward(dst, q, k, v)
		best = min(best, time.Since(start))
	}
	return best
}
