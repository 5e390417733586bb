package performer_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/internal/maptest"
)

// Landmarks that are given are those that are chosen, to rounding; given twice, they count once.
func testGivenLandmarks[T dense.Float](t *testing.T) {
	const d, n, r = 6, 80, 10
	for _, plain := range []bool{false, true} {
		exact := performer.ExactOptions{Unnormalised: plain}
		chosen := must.Have(performer.NewLandmarks[T](exact, r, densetest.Source(1)))
		q, k, v, dout := densetest.Decaying[T](1, 40, d, 3), densetest.Decaying[T](2, n, d, 3), densetest.Decaying[T](3, n, 3, 1), densetest.Decaying[T](4, 40, 3, 1)
		z := dense.Copy(dense.Matrix[T]{}, newByLandmarks(chosen, k).z)
		require.Equal(t, r, z.Rows)
		twice := dense.New[T](2*r, d)
		for i := range twice.Rows {
			copy(twice.Row(i), z.Row(i%r))
		}
		none := dense.Matrix[T]{}
		want := wide(chosen.Forward(none, q, k, v))
		wantQ, wantK, wantV := chosen.Backward(none, none, none, q, k, v, dout)
		for _, points := range []dense.Matrix[T]{z, twice} {
			given := must.Have(performer.NewLandmarksAt(exact, points))
			tolerance := 1e4 * densetest.Roundoff[T]()
			assert.Less(t, frobeniusError(given.Forward(none, q, k, v), want), tolerance)
			dq, dk, dv := given.Backward(none, none, none, q, k, v, dout)
			assert.Less(t, frobeniusError(dq, wide(wantQ)), tolerance)
			assert.Less(t, frobeniusError(dk, wide(wantK)), tolerance)
			assert.Less(t, frobeniusError(dv, wide(wantV)), tolerance)
			for _, x := range given.Forward(none, q, k.RowRange(0, 0), v.RowRange(0, 0)).Data {
				assert.Zero(t, x)
			}
		}
	}
}

func TestGivenLandmarks(t *testing.T) {
	densetest.Both(t, testGivenLandmarks[float32], testGivenLandmarks[float64])
}

// causalByLandmarks is causal attention by its definition.
func causalByLandmarks(z, q, k, v dense.Matrix[float64], s float64, window, past int, valid []bool, plain bool) dense.Matrix[float64] {
	b := &byLandmarks{scale: s, z: z}
	g := mat.NewDense(z.Rows, z.Rows, nil)
	for i := range z.Rows {
		for j := range z.Rows {
			g.Set(i, j, math.Exp(-s/2*math.Pow(floats.Distance(z.Row(i), z.Row(j), 2), 2)))
		}
	}
	if err := b.inverse.Inverse(g); err != nil {
		panic(err)
	}
	out := dense.New[float64](q.Rows, v.Cols)
	for i := range q.Rows {
		phi, total, at := b.features(q.Row(i), 0), 0.0, i+past
		for j := 0; j <= min(at, k.Rows-1); j++ {
			if valid != nil && !valid[j] {
				continue
			}
			w := math.Exp(s * floats.Dot(q.Row(i), k.Row(j)))
			if stride := max(window, z.Rows); at >= window && j < (at-window)/stride*stride {
				w = mat.Inner(phi, &b.inverse, b.features(k.Row(j), 0))
			}
			total += w
			floats.AddScaled(out.Row(i), w, v.Row(j))
		}
		if !plain && total != 0 {
			floats.Scale(1/total, out.Row(i))
		}
	}
	return out
}

func testCausalLandmarks[T dense.Float](t *testing.T) {
	const d, dv, n, r = 4, 3, 150, 12
	none := dense.Matrix[T]{}
	z := densetest.Decaying[T](9, r, d, 3)
	q, k, v := densetest.Decaying[T](1, n, d, 3), densetest.Decaying[T](2, n, d, 3), densetest.Decaying[T](3, n, dv, 1)
	tolerance := 1e4 * densetest.Roundoff[T]()
	for _, plain := range []bool{false, true} {
		exact := performer.ExactOptions{Causal: true, Unnormalised: plain}
		l := must.Have(performer.NewLandmarksAt(exact, z))
		got := l.Forward(none, q, k, v)
		want := causalByLandmarks(wide(z), wide(q), wide(k), wide(v), 0.5, 0, 0, nil, plain)
		require.Less(t, frobeniusError(got, want), tolerance, "unnormalised %v", plain)
		other := causalByLandmarks(wide(z), wide(q), wide(k), wide(v), 0.5, 1, 0, nil, plain)
		require.Greater(t, frobeniusError(got, other), tolerance, "a window is noticed")

		// The last queries alone have the same bits.
		batch := must.Have(performer.NewBatch[T](1, 1, l))
		for _, first := range []int{1, 65, 100, n - 1} {
			last := batch.ForwardSequences(none, q.RowRange(first, n), k, v, performer.Sequences{Queries: []int{n - first}, Keys: []int{n}, Past: []int{first}})
			require.True(t, densetest.Identical(got.RowRange(first, n), last), "from %d", first)
		}

		// NaN in later tokens changes no bit.
		spoilt := [3]dense.Matrix[T]{q.Clone(), k.Clone(), v.Clone()}
		for _, m := range spoilt {
			for i := 90; i < n; i++ {
				layout.Fill(m.Row(i), T(math.NaN()))
			}
		}
		require.True(t, densetest.Identical(got.RowRange(0, 90), l.Forward(none, spoilt[0], spoilt[1], spoilt[2]).RowRange(0, 90)))

		// Keys that do not count are left out, where they are.
		valid := make([]bool, n)
		rng := rand.New(densetest.Source(4))
		for j := range valid {
			valid[j] = rng.IntN(3) > 0
		}
		valid[0], valid[n-1] = true, true
		for j, counts := range valid {
			if counts {
				copy(spoilt[1].Row(j), k.Row(j))
				copy(spoilt[2].Row(j), v.Row(j))
			} else {
				layout.Fill(spoilt[1].Row(j), T(math.NaN()))
				layout.Fill(spoilt[2].Row(j), T(math.NaN()))
			}
		}
		masked := batch.ForwardSequences(none, q, spoilt[1], spoilt[2], performer.Sequences{Valid: valid})
		want = causalByLandmarks(wide(z), wide(q), wide(k), wide(v), 0.5, 0, 0, valid, plain)
		require.Less(t, frobeniusError(masked, want), tolerance, "masked")

		before := runtime.GOMAXPROCS(3)
		again := l.Forward(none, q, k, v)
		runtime.GOMAXPROCS(before)
		require.True(t, densetest.Identical(got, again))
		assert.EqualError(t, l.CanBackward(), "performer: causal Landmarks have no derivatives")
	}
	// Norms far beyond the range of exp: values of 1 give 1.
	far := densetest.Decaying[T](5, n, d, 1e4)
	l := must.Have(performer.NewLandmarksAt(performer.ExactOptions{Causal: true}, far.RowRange(0, r)))
	for _, x := range l.Forward(none, far, far, densetest.Filled(n, 2, T(1))).Data {
		require.Equal(t, T(1), x)
	}
}

func TestCausalLandmarks(t *testing.T) {
	densetest.Both(t, testCausalLandmarks[float32], testCausalLandmarks[float64])
}

func TestNewLandmarksAtErrors(t *testing.T) {
	z := densetest.Decaying[float32](1, 5, 2, 1)
	nan, long := z.Clone(), z.Clone()
	nan.Set(3, 1, float32(math.NaN()))
	long.Set(2, 0, 1e25)
	for want, f := range map[string]func() (performer.Landmarks[float32], error){
		"performer: z is 0×0, want at least 1×1": func() (performer.Landmarks[float32], error) {
			return performer.NewLandmarksAt(performer.ExactOptions{}, dense.Matrix[float32]{})
		},
		"performer: z[3][1] = NaN, want a finite number": func() (performer.Landmarks[float32], error) {
			return performer.NewLandmarksAt(performer.ExactOptions{}, nan)
		},
		"performer: z[2] has a squared norm outside the range of float32": func() (performer.Landmarks[float32], error) {
			return performer.NewLandmarksAt(performer.ExactOptions{}, long)
		},
		"performer: exact.Scale = +Inf, want a finite number of at least 0": func() (performer.Landmarks[float32], error) {
			return performer.NewLandmarksAt(performer.ExactOptions{Scale: math.Inf(1)}, z)
		},
	} {
		_, err := f()
		assert.EqualError(t, err, want)
	}
	l := must.Have(performer.NewLandmarksAt(performer.ExactOptions{}, z))
	x := dense.New[float32](4, 3)
	assert.PanicsWithValue(t, "performer: q is 4×3, k is 4×3, but the landmarks are points of R^2", func() { l.Forward(dense.Matrix[float32]{}, x, x, x) })
	_, err := performer.NewBatch[float32](1, 1, l, attention(maptest.Positive[float32](4, 3), performer.LinearOptions{}))
	assert.Error(t, err)
}
