package performer_test

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/allocs"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// plus returns the rows of x + by·v.
func plus[T dense.Float](x dense.Matrix[T], v []T, by T) dense.Matrix[T] {
	y := x.Clone()
	for i := range y.Rows {
		for j := range v {
			y.Row(i)[j] += by * v[j]
		}
	}
	return y
}

// meansOf returns vectors of R^d for queries and for keys, and their difference.
func meansOf[T dense.Float](d int, size float64) (b, c, shift []T) {
	m := densetest.Decaying[T](21, 2, d, size*size)
	b, c = m.Row(0), m.Row(1)
	return b, c, plus(m.RowRange(0, 1), c, -1).Row(0)
}

// unshifted multiplies row i of out by exp(−s·q_iᵀshift).
func unshifted[T dense.Float](out, q dense.Matrix[T], shift []T, s float64) dense.Matrix[float64] {
	to := wide(out)
	for i := range to.Rows {
		log := 0.0
		for j, x := range q.Row(i) {
			log += float64(x) * float64(shift[j])
		}
		for j := range to.Row(i) {
			to.Row(i)[j] *= math.Exp(-s * log)
		}
	}
	return to
}

// Softmax does not change when b − c is added to all keys: centred landmarks are landmarks of
// shifted keys, and unnormalised outputs have another factor. Without centring, outputs are far off
// these.
func testCentredLandmarks[T dense.Float](t *testing.T) {
	const d, dv, n, r = 4, 3, 90, 12
	const s = 0.5
	none := dense.Matrix[T]{}
	z := densetest.Decaying[T](9, r, d, 3)
	q, k, v := densetest.Decaying[T](1, n, d, 2), densetest.Decaying[T](2, n, d, 2), densetest.Decaying[T](3, n, dv, 1)
	b, c, shift := meansOf[T](d, 1)
	tolerance := 1e4 * densetest.Roundoff[T]()
	for _, plain := range []bool{false, true} {
		given := func(z dense.Matrix[T], b, c []T) performer.Landmarks[T] {
			return must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Unnormalised: plain, Points: z, QueryMean: b, KeyMean: c}, nil))
		}
		l, moved := given(z, nil, nil), given(plus(z, shift, 1), nil, nil)
		want := wide(moved.Forward(none, q, plus(k, shift, 1), v))
		if plain {
			want = unshifted(moved.Forward(none, q, plus(k, shift, 1), v), q, shift, s)
		}
		for name, f := range map[string]performer.Landmarks[T]{"centred": given(z, b, c), "queries alone": given(z, shift, nil)} {
			require.Less(t, frobeniusError(f.Forward(none, q, k, v), want), tolerance, "%s, unnormalised %v", name, plain)
		}
		require.Greater(t, frobeniusError(l.Forward(none, q, k, v), want), 10*tolerance)
	}
}

func TestCentredLandmarks(t *testing.T) {
	densetest.Both(t, testCentredLandmarks[float32], testCentredLandmarks[float64])
}

// Landmarks that are chosen among shifted keys give the outputs and the gradients of centred ones.
func testCentredChoice[T dense.Float](t *testing.T) {
	const d, n, r = 6, 80, 10
	none := dense.Matrix[T]{}
	b, c, _ := meansOf[T](d, 1)
	q, k := plus(densetest.Decaying[T](1, 40, d, 2), b, 1), plus(densetest.Decaying[T](2, n, d, 2), c, 1)
	v, dout := densetest.Decaying[T](3, n, 3, 1), densetest.Decaying[T](4, 40, 3, 1)
	for _, plain := range []bool{false, true} {
		l := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Landmarks: r, Unnormalised: plain, QueryMean: b, KeyMean: c}, densetest.Source(1)))
		points := dense.Copy(dense.Matrix[T]{}, newByLandmarks(l, k).z)
		require.Equal(t, r, points.Rows)
		given := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Unnormalised: plain, Points: points, QueryMean: b, KeyMean: c}, nil))
		tolerance := 1e4 * densetest.Roundoff[T]()
		assert.Less(t, frobeniusError(l.Forward(none, q, k, v), wide(given.Forward(none, q, k, v))), tolerance)
		gq, gk, gv := given.Backward(none, none, none, q, k, v, dout)
		dq, dk, dv := l.Backward(none, none, none, q, k, v, dout)
		assert.Less(t, frobeniusError(dq, wide(gq)), tolerance)
		assert.Less(t, frobeniusError(dk, wide(gk)), tolerance)
		assert.Less(t, frobeniusError(dv, wide(gv)), tolerance)
	}
}

func TestCentredChoice(t *testing.T) {
	densetest.Both(t, testCentredChoice[float32], testCentredChoice[float64])
}

// Gradients are differences at four points around each element; landmarks and means stay.
func TestCentredLandmarkGradients(t *testing.T) {
	const d, n, r, h = 3, 20, 6, 1e-3
	none := dense.Matrix[float64]{}
	b, c, _ := meansOf[float64](d, 1)
	x := [3]dense.Matrix[float64]{densetest.Decaying[float64](1, 10, d, 1), densetest.Decaying[float64](2, n, d, 1), densetest.Decaying[float64](3, n, 2, 1)}
	dout := densetest.Decaying[float64](4, 10, 2, 1)
	for _, plain := range []bool{false, true} {
		l := must.Have(performer.NewLandmarks(performer.LandmarkOptions[float64]{Unnormalised: plain, Points: densetest.Decaying[float64](9, r, d, 2), QueryMean: b, KeyMean: c}, nil))
		dq, dk, dv := l.Backward(none, none, none, x[0], x[1], x[2], dout)
		for i, got := range []dense.Matrix[float64]{dq, dk, dv} {
			for at := range x[i].Data {
				was := x[i].Data[at]
				after := func(steps float64) float64 {
					x[i].Data[at] = was + steps*h
					sum := 0.0
					for j, y := range l.Forward(none, x[0], x[1], x[2]).Data {
						sum += y * dout.Data[j]
					}
					return sum
				}
				slope := (8*(after(1)-after(-1)) - (after(2) - after(-2))) / (12 * h)
				x[i].Data[at] = was
				require.InDelta(t, slope, got.Data[at], 1e-8*(1+math.Abs(slope)), "%d, element %d, unnormalised %v", i, at, plain)
			}
		}
	}
}

// Queries and keys with means 7 apart: the error falls to less than a third. With equal means it
// stays.
func testCentredLandmarkErrors[T dense.Float](t *testing.T) {
	const d, n, r = 32, 600, 128
	none := dense.Matrix[T]{}
	v := densetest.Decaying[T](3, n, d, 1)
	for _, apart := range []bool{true, false} {
		b, c := make([]T, d), make([]T, d)
		b[3], c[3] = 5, 5
		if apart {
			c[3], c[7] = 0, -5
		}
		q, k := plus(densetest.Decaying[T](1, n, d, 3), b, 1), plus(densetest.Decaying[T](2, n, d, 3), c, 1)
		_, b, err := rff.SubtractMean(q)
		require.NoError(t, err)
		_, c, err = rff.SubtractMean(k)
		require.NoError(t, err)
		exact := wide(must.Have(performer.NewExact[T](performer.ExactOptions{})).Forward(none, q, k, v))
		for seed := range uint64(3) {
			l := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Landmarks: r}, densetest.Source(seed)))
			centred := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Landmarks: r, QueryMean: b, KeyMean: c}, densetest.Source(seed)))
			left, off := frobeniusError(l.Forward(none, q, k, v), exact), frobeniusError(centred.Forward(none, q, k, v), exact)
			if apart {
				assert.Less(t, 3*off, left, "seed %d", seed)
			} else {
				assert.InEpsilon(t, left, off, 0.2, "seed %d", seed)
			}
		}
	}
}

func TestCentredLandmarkErrors(t *testing.T) {
	densetest.Both(t, testCentredLandmarkErrors[float32], testCentredLandmarkErrors[float64])
}

// Offsets of norm 100: outputs are numbers, averages are exactly 1 for values of 1, and errors are
// those of rounding points of this size.
func testFarLandmarks[T dense.Float](t *testing.T) {
	const d, n, r = 16, 300, 64
	none := dense.Matrix[T]{}
	b, c := make([]T, d), make([]T, d)
	b[0], c[0], c[1] = 100, -60, 80
	for _, norm := range []float64{1, 3, 30} {
		k := plus(densetest.Decaying[T](2, n, d, norm*norm/3), c, 1)
		for j := r; j < n; j++ {
			copy(k.Row(j), k.Row(j%r)) // r landmarks are all keys
		}
		q, v := plus(densetest.Decaying[T](1, 50, d, norm*norm/3), b, 1), densetest.Decaying[T](3, n, 3, 1)
		l := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Landmarks: r, QueryMean: b, KeyMean: c}, densetest.Source(1)))
		for _, x := range l.Forward(none, q, k, densetest.Filled(n, 1, T(1))).Data {
			require.Equal(t, T(1), x, "norm %g", norm)
		}
		if norm < 10 { // weights of keys have not more than the range of float64 between them
			want := must.Have(performer.NewExact[float64](performer.ExactOptions{})).Forward(dense.Matrix[float64]{}, wide(q), wide(k), wide(v))
			scores := 0.25 * (100 + norm) * (100 + norm)
			assert.Less(t, frobeniusError(l.Forward(none, q, k, v), want), 4*scores*densetest.Roundoff[T](), "norm %g", norm)
		}
		plain := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Landmarks: r, Unnormalised: true, QueryMean: b, KeyMean: c}, densetest.Source(1)))
		for _, x := range plain.Forward(none, q, k, v).Data {
			require.False(t, math.IsNaN(float64(x)))
		}
	}
}

func TestFarLandmarks(t *testing.T) {
	densetest.Both(t, testFarLandmarks[float32], testFarLandmarks[float64])
}

// A NaN in a query reaches its row alone, in a key all rows. Heads have means of their own, and
// keys that do not count are left out. Bits do not depend on GOMAXPROCS.
func testCentredLandmarkBatch[T dense.Float](t *testing.T) {
	const d, n, r = 4, 60, 16
	none := dense.Matrix[T]{}
	b, c, _ := meansOf[T](d, 1)
	var heads []performer.Landmarks[T]
	for _, means := range [][2][]T{{b, c}, {c, b}} {
		o := performer.LandmarkOptions[T]{Landmarks: r, QueryMean: means[0], KeyMean: means[1]}
		heads = append(heads, must.Have(performer.NewLandmarks(o, densetest.Source(1))))
	}
	q, k, v := densetest.Decaying[T](1, 20, 2*d, 2), densetest.Decaying[T](2, n, d, 2), densetest.Decaying[T](3, n, 3, 1)
	batch := must.Have(performer.NewBatch[T](2, 1, heads[0], heads[1]))
	got := batch.Forward(none, q, k, v)
	for h, l := range heads {
		one := q.ColRange(h*d, h*d+d)
		want := l.Forward(none, one, k, v)
		require.True(t, densetest.Identical(want, got.ColRange(3*h, 3*h+3).Clone()), "head %d", h)
		spoilt := one.Clone()
		spoilt.Set(7, 2, T(math.NaN()))
		for i, x := range l.Forward(none, spoilt, k, v).Data {
			if i/3 == 7 {
				require.True(t, x != x)
			} else {
				require.Equal(t, want.Data[i], x)
			}
		}
	}
	valid, fewer, values := make([]bool, n), dense.New[T](n/2, d), dense.New[T](n/2, 3)
	masked := k.Clone()
	for j := range n {
		if valid[j] = j%2 == 0; valid[j] {
			copy(fewer.Row(j/2), k.Row(j))
			copy(values.Row(j/2), v.Row(j))
		} else {
			layout.Fill(masked.Row(j), T(math.NaN()))
		}
	}
	require.True(t, densetest.Identical(batch.Forward(none, q, fewer, values), batch.ForwardSequences(none, q, masked, v, performer.Sequences{Valid: valid})))
	masked.Set(0, 1, T(math.NaN()))
	for _, x := range batch.ForwardSequences(none, q, masked, v, performer.Sequences{Valid: valid}).Data {
		require.True(t, x != x)
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	require.True(t, densetest.Identical(got, batch.Forward(none, q, k, v)))
}

func TestCentredLandmarkBatch(t *testing.T) {
	densetest.Both(t, testCentredLandmarkBatch[float32], testCentredLandmarkBatch[float64])
}

func testCentredLandmarkAllocations[T dense.Float](t *testing.T) {
	const d, n = 16, 3000
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	b, c, _ := meansOf[T](d, 1)
	l := must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Landmarks: 40, QueryMean: b, KeyMean: c}, densetest.Source(1)))
	q, v, dst := densetest.Decaying[T](1, n, d, 2), densetest.Decaying[T](2, n, d, 1), dense.New[T](n, d)
	for _, processors := range []int{1, 2} {
		assert.Zero(t, allocs.Settled(processors, func() { l.Forward(dst, q, q, v) }), "%d processors", processors)
	}
}

func TestCentredLandmarkAllocations(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector lets pools forget")
	}
	densetest.Both(t, testCentredLandmarkAllocations[float32], testCentredLandmarkAllocations[float64])
}

func TestCentredLandmarksErrors(t *testing.T) {
	chosen := performer.LandmarkOptions[float32]{Landmarks: 3}
	given := performer.LandmarkOptions[float32]{Points: densetest.Decaying[float32](1, 5, 2, 1)}
	for _, e := range []struct {
		o    performer.LandmarkOptions[float32]
		b, c []float32
		want string
	}{
		{chosen, []float32{1}, []float32{1, 2}, "performer: QueryMean has length 1, want 2"},
		{chosen, []float32{1, 2}, []float32{1}, "performer: KeyMean has length 1, want 2"},
		{given, []float32{1, 2, 3}, nil, "performer: QueryMean has length 3, want 2"},
		{chosen, []float32{1, float32(math.NaN())}, nil, "performer: QueryMean[1] = NaN, want a finite number"},
		{given, nil, []float32{1e25, 0}, "performer: z[0] has a squared norm outside the range of float32"},
	} {
		e.o.QueryMean, e.o.KeyMean = e.b, e.c
		_, err := performer.NewLandmarks(e.o, densetest.Source(1))
		assert.EqualError(t, err, e.want)
	}
	chosen.QueryMean = []float32{1, 2}
	l := must.Have(performer.NewLandmarks(chosen, densetest.Source(1)))
	x := dense.New[float32](4, 3)
	assert.PanicsWithValue(t, "performer: q is 4×3, k is 4×3: heads have dimension 3, but the attention takes points of R^2", func() { l.Forward(dense.Matrix[float32]{}, x, x, x) })
}
