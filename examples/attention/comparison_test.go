package main

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/progress"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

// tensors returns heads of n tokens with entries of the given size.
func tensors[T dense.Float](heads, n, d int, size float64) input[T] {
	normal := distuv.Normal{Sigma: size, Src: exprand.NewSource(9)}
	in := input[T]{rank: 3, title: "test", forms: formNames}
	for range heads {
		var m [3]dense.Matrix[T]
		for i := range m {
			m[i] = dense.New[T](n, d)
			for j := range m[i].Data {
				m[i].Data[j] = T(normal.Rand())
			}
		}
		in.heads = append(in.heads, head[T]{q: m[0], k: m[1], v: m[2]})
	}
	return in
}

func comparisonOf[T dense.Float](t *testing.T, s settings, in input[T]) *comparison[T] {
	t.Helper()
	c, err := newComparison(s, in)
	require.NoError(t, err)
	return c
}

func sameWhateverElseRuns[T dense.Float](t *testing.T) {
	s := settings{seed: 3, draws: 3}
	in := tensors[T](2, 70, 8, 0.8)
	measured := func(sel selection) []row {
		rows, err := comparisonOf(t, s, in).measure(sel, progress.Bar{})
		require.NoError(t, err)
		for i := range rows {
			rows[i].time, rows[i].memory = 0, 0
		}
		return rows
	}
	all := measured(selection{maps: mapNames, projections: projectionNames, m: 24})
	require.Len(t, all, 12)
	assert.Equal(t, "hyperbolic gram-schmidt", label(all[4+1]), "maps, then projections")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	one := measured(selection{maps: []string{"hyperbolic"}, projections: []string{"gram-schmidt"}, m: 24})
	assert.Equal(t, all[5:6], one)
}

func label(r row) string {
	return r.name + " " + r.projection
}

func TestSameWhateverElseRuns(t *testing.T) {
	t.Run("type=float32", sameWhateverElseRuns[float32])
	t.Run("type=float64", sameWhateverElseRuns[float64])
}

func TestErrorFallsWithM(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds in pure Go")
	}
	// Collections of garbage, by which memory is watched, wait busily for other processors.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, causal := range []bool{false, true} {
		c := comparisonOf(t, settings{seed: 1, draws: 4, causal: causal}, tensors[float64](1, 100, 8, 0.4))
		few, err := c.measure(selection{maps: mapNames, projections: projectionNames, m: 16}, progress.Bar{})
		require.NoError(t, err)
		many, err := c.measure(selection{maps: mapNames, projections: projectionNames, m: 512}, progress.Bar{})
		require.NoError(t, err)
		for i := range few {
			// By √32 = 5.7 in the limit.
			assert.Greater(t, few[i].err, 3*many[i].err, "%s, causal %v", label(few[i]), causal)
			assert.Positive(t, few[i].stderr)
			assert.Positive(t, few[i].time)
		}
	}
}

// With a landmark for each key, landmarks are exact, and random features fall as in TestErrorFallsWithM.
func TestForms(t *testing.T) {
	for _, causal := range []bool{false, true} {
		c := comparisonOf(t, settings{seed: 1, draws: 3, causal: causal}, tensors[float64](2, 400, 8, 0.4))
		rows, err := c.measureForms([]int{16, 512}, progress.Bar{})
		require.NoError(t, err)
		names := c.names()
		require.Len(t, rows, 2*len(names))
		for i := 0; i < len(rows); i += 2 {
			assert.Equal(t, names[i/2], rows[i].name)
			assert.Equal(t, [2]int{16, 512}, [2]int{rows[i].size, rows[i+1].size})
			assert.Positive(t, rows[i].time)
			switch {
			case rows[i].name == "clusters" && causal: // they leave the first 1024 keys exact
				assert.Less(t, rows[i].err, 1e-13)
			case !strings.HasPrefix(rows[i].name, "landmarks"):
				assert.Greater(t, rows[i].err, 2.5*rows[i+1].err, "%s, causal %v", rows[i].name, causal)
			}
		}
		if !causal {
			assert.Less(t, rows[2*slices.Index(names, "landmarks")+1].err, 1e-13)
		}
		references, err := c.references()
		require.NoError(t, err)
		for _, r := range references {
			assert.Greater(t, r.err, 5*rows[1].err, r.name)
		}
	}
}

func TestAverage(t *testing.T) {
	in := tensors[float64](2, 50, 4, 1)
	for _, causal := range []bool{false, true} {
		// Queries of zero give all keys the same weight.
		for _, h := range in.heads {
			clear(h.q.Data)
		}
		references, err := comparisonOf(t, settings{causal: causal}, in).references()
		require.NoError(t, err)
		assert.Equal(t, averageName, references[1].name)
		assert.Less(t, references[1].err, 50*0x1p-53)
	}
}

// An unbiased map exceeds 4 standard errors at one seed in 16,000; a truth that
// is 10 % off is noticed.
func TestBias(t *testing.T) {
	in := tensors[float64](2, 60, 8, 0.4)
	scale := 1 / math.Sqrt(8)
	p := samplePairs(in.heads, scale, exprand.NewSource(1))
	wrong := pairs[float64]{q: p.q, k: p.k}
	for _, v := range p.log {
		wrong.log = append(wrong.log, v+math.Log(1.1))
	}
	for _, name := range mapNames {
		src := exprand.NewSource(5)
		var right, off []float64
		for range biasDraws {
			w, err := frequencies[float64]("gram-schmidt", 64, 8, src)
			require.NoError(t, err)
			f, err := features(name, w, scale)
			require.NoError(t, err)
			right = append(right, p.meanError(f))
			off = append(off, wrong.meanError(f))
		}
		assert.Less(t, math.Abs(score(right)), 4.0, name)
		assert.Less(t, score(off), -4.0, name)
	}
}

func TestMeanErrorOfKnownEstimates(t *testing.T) {
	q := dense.Of(1, 2, []float64{1, 2})
	k := dense.Of(1, 2, []float64{0.5, 0.25})
	p := pairs[float64]{q: q, k: k, log: []float64{0.3}}
	identity, err := rff.Identity[float64](2)
	require.NoError(t, err)
	assert.InDelta(t, 1/math.Exp(0.3)-1, p.meanError(identity), 1e-15, "features")
	elu, err := rff.ELU[float64](2)
	require.NoError(t, err)
	want := kernels.ELU{}.Eval(q.Row(0), k.Row(0))/math.Exp(0.3) - 1
	assert.InDelta(t, want, p.meanError(elu), 1e-14, "log-features")
}

func TestScore(t *testing.T) {
	assert.InDelta(t, 2/(1/math.Sqrt(3)), score([]float64{1, 2, 3}), 1e-15)
}

func TestSamplePairsAvoidsEqualVectors(t *testing.T) {
	x := dense.Of(2, 1, []float64{1, 2})
	p := samplePairs([]head[float64]{{q: x, k: x, v: x}}, 0.5, exprand.NewSource(1))
	for i, log := range p.log {
		assert.Equal(t, 1.0, log, "0.5·1·2, pair %d", i)
	}
}

// The weights of 2048 tokens take 32 MiB; a pass takes its output and scratch
// memory that does not depend on their number.
func TestMemory(t *testing.T) {
	in := tensors[float64](1, 2048, 8, 0.5)
	c := comparisonOf(t, settings{}, in)
	for _, name := range mapNames {
		w, err := frequencies[float64]("iid", 64, 8, exprand.NewSource(1))
		require.NoError(t, err)
		f, err := features(name, w, c.scale)
		require.NoError(t, err)
		out, got, err := c.watched(f)
		require.NoError(t, err)
		unwatched, _, err := c.timed(f)
		require.NoError(t, err)
		assert.Equal(t, unwatched, out, "watching changes nothing")
		// Garbage of the test itself may go meanwhile: some of the output is sure.
		assert.GreaterOrEqual(t, got, uint64(2048*8*8)/2, "%s: the output alone", name)
		assert.Less(t, got, c.weights()/4, name)
	}
}

func TestMedian(t *testing.T) {
	assert.Equal(t, 2*time.Second, median([]time.Duration{3 * time.Second, time.Second, 2 * time.Second}))
}

func TestProfileOfUniformAttention(t *testing.T) {
	in := tensors[float64](1, 40, 4, 1)
	clear(in.heads[0].q.Data)
	p := comparisonOf(t, settings{}, in).profile()
	assert.InDelta(t, 40, p.spread, 1e-9)
	assert.InDelta(t, 1.0/40, p.largest, 1e-12)
	assert.Equal(t, [3]float64{0, 0, 40}, [3]float64{p.low, p.high, p.seen})
	p = comparisonOf(t, settings{causal: true}, in).profile()
	assert.InDelta(t, 20.5, p.spread, 1e-9)
	assert.Equal(t, 20.5, p.seen)
}
