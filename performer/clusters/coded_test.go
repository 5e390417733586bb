package clusters_test

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/clusters"
)

// Near keys in 8 bits add about a percent of error to attention whose keys are all near, in shapes
// of all kinds, and none to speak of where clusters stand for keys.
func TestBits(t *testing.T) {
	densetest.Both(t, testBits[float32], testBits[float64])
}

func testBits[T dense.Float](t *testing.T) {
	var none dense.Matrix[T]
	for _, c := range []struct {
		d, dv int
		norm  float64
	}{{16, 7, 8}, {64, 64, 5}, {33, 16, 8}, {1, 1, 3}, {3, 40, 4}} {
		q, k, v := tokens[T](1500, c.d, c.dv, c.norm, 1)
		want := must.Have(performer.NewExact[T](performer.ExactOptions{})).Forward(none, q, k, v)
		all := form(t, must.Have(performer.NewExact[T](performer.ExactOptions{Bits: 8})), clusters.Options{Threshold: 1e-30, Clusters: 40})
		err := relative(all.Forward(none, q, k, v), want)
		t.Logf("d = %d, dv = %d, norm %g: error %.4f, of exact attention in 8 bits %.4f", c.d, c.dv, c.norm, err,
			relative(must.Have(performer.NewExact[T](performer.ExactOptions{Bits: 8})).Forward(none, q, k, v), want))
		assert.Less(t, err, 0.012, "d = %d, dv = %d", c.d, c.dv)
		assert.Greater(t, err, 1e-4, "d = %d, dv = %d: codes are used", c.d, c.dv)
		few := relative(form(t, must.Have(performer.NewExact[T](performer.ExactOptions{})), clusters.Options{}).Forward(none, q, k, v), want)
		coded := relative(form(t, must.Have(performer.NewExact[T](performer.ExactOptions{Bits: 8})), clusters.Options{}).Forward(none, q, k, v), want)
		assert.Less(t, coded, math.Hypot(few, err)+0.001, "d = %d, dv = %d", c.d, c.dv)
	}
}

// A mean of keys, of values, or of both that is a thousand times their spread does no harm:
// differences of clusters have codes.
func TestBitsMeans(t *testing.T) {
	var none dense.Matrix[float64]
	q, k, v := tokens[float64](1500, 16, 4, 6, 3)
	f := form(t, must.Have(performer.NewExact[float64](performer.ExactOptions{Bits: 8})), clusters.Options{Threshold: 1e-30, Clusters: 40})
	want := must.Have(performer.NewExact[float64](performer.ExactOptions{})).Forward(none, q, k, v)
	for i := range k.Data {
		k.Data[i] += 1000
	}
	for i := range v.Data {
		v.Data[i] += 1000
	}
	got := f.Forward(none, q, k, v)
	for i := range got.Data {
		got.Data[i] -= 1000
	}
	assert.Less(t, relative(got, want), 0.012)
}

// NaN and Inf in a value reach the queries that give its cluster a weight, those of a key or a
// query its rows; a cluster without codes has the precision of T.
func TestBitsNotFinite(t *testing.T) {
	var none dense.Matrix[float64]
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		f := form(t, must.Have(performer.NewExact[float64](performer.ExactOptions{Bits: 8})), clusters.Options{Threshold: 1e-30})
		q, k, v := tokens[float64](1000, 4, 3, 3, 6)
		v.Row(500)[1] = x
		want, got := must.Have(performer.NewExact[float64](performer.ExactOptions{})).Forward(none, q, k, v), f.Forward(none, q, k, v)
		for i, w := range want.Data {
			if g := got.Data[i]; (w-w == 0) != (g-g == 0) {
				require.Failf(t, "another kind", "element %d with a value of %v: %v, want %v", i, x, g, w)
			}
		}
		q, k, v = tokens[float64](1000, 4, 3, 3, 7)
		q.Row(850)[0] = x
		out := f.Forward(none, q, k, v)
		for i := range out.Rows {
			require.Equal(t, i == 850, math.IsNaN(out.At(i, 0)), "row %d with a query of %v", i, x)
		}
		k.Row(700)[2] = x
		out = f.Forward(none, q, k, v)
		want = must.Have(performer.NewExact[float64](performer.ExactOptions{})).Forward(none, q, k, v)
		for i, x := range want.Data {
			require.Equal(t, x-x == 0, out.Data[i]-out.Data[i] == 0, "element %d with a key of %v", i, x)
		}
	}
}

// Outputs have the same bits on one processor, and in any memory.
//
//ci:race
func TestBitsProcessors(t *testing.T) {
	f := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{Bits: 8})), clusters.Options{})
	q, k, v := tokens[float32](5000, 8, 8, 6, 8)
	want := f.Forward(dense.Matrix[float32]{}, q, k, v)
	old := runtime.GOMAXPROCS(1)
	got := f.Forward(dense.Matrix[float32]{}, q, k, v)
	runtime.GOMAXPROCS(old)
	require.Equal(t, want.Data, got.Data)
	f.Forward(q, q, k, v)
	require.Equal(t, want.Data, q.Data)
}

// More keys in a cluster than products of bytes take are computed in T.
func TestBitsElsewhere(t *testing.T) {
	var none dense.Matrix[float32]
	q, k, v := tokens[float32](1<<16+9, 1, 1, 2, 5)
	q = q.RowRange(0, 300)
	opts := clusters.Options{Threshold: 1e-30, Clusters: 1}
	want := must.Have(performer.NewExact[float32](performer.ExactOptions{})).Forward(none, q, k, v)
	got := form(t, must.Have(performer.NewExact[float32](performer.ExactOptions{Bits: 8})), opts).Forward(none, q, k, v)
	assert.Less(t, relative(got, want), 1e-3)
}

// Values of all sizes have outputs near those of exact attention, and so have keys whose products
// with queries are those of ordinary ones.
func TestBitsRange(t *testing.T) {
	densetest.Both(t, testBitsRange[float32], testBitsRange[float64])
}

func testBitsRange[T dense.Float](t *testing.T) {
	var none dense.Matrix[T]
	q, k, v := tokens[T](1000, 8, 3, 2, 9)
	f := form(t, must.Have(performer.NewExact[T](performer.ExactOptions{Bits: 8})), clusters.Options{Threshold: 1e-30, Clusters: 20})
	want := must.Have(performer.NewExact[T](performer.ExactOptions{})).Forward(none, q, k, v)
	times := func(x dense.Matrix[T], size float64) dense.Matrix[T] {
		x = x.Clone()
		for i, e := range x.Data {
			x.Data[i] = T(float64(e) * size)
		}
		return x
	}
	for _, size := range []float64{0x1p-124, 0x1p-100, 0x1p90, 0x1p110, 0x1p122} {
		assert.Less(t, relative(times(f.Forward(none, q, k, times(v, size)), 1/size), want), 0.012, "values times %g", size)
		assert.Less(t, relative(f.Forward(none, times(q, 1/size), times(k, size), v), want), 0.02, "keys times %g", size)
	}
}
