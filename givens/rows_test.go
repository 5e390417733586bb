package givens_test

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
)

// testRowsAlone has so many rotations that several processors share the rows.
func testRowsAlone[T dense.Float](t *testing.T) {
	p := random[T](t, 20, 12000, 2)
	x := densetest.Gapped[T](8, 800, 20)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	y := p.Apply(dense.Matrix[T]{}, x)
	back := p.ApplyTransposed(dense.Matrix[T]{}, x)
	for i := range x.Rows {
		v := slices.Clone(x.Row(i))
		p.ApplyVec(v, v)
		require.Equal(t, v, y.Row(i), "row %d alone", i)
		copy(v, x.Row(i))
		p.ApplyTransposedVec(v, v)
		require.Equal(t, v, back.Row(i), "inverse of row %d alone", i)
	}
	z := x.Clone()
	p.Apply(z, z)
	assert.Equal(t, y, z, "in place")
	runtime.GOMAXPROCS(1)
	assert.Equal(t, y, p.Apply(dense.Matrix[T]{}, x), "one processor")
	assert.Equal(t, back, p.ApplyTransposed(dense.Matrix[T]{}, x), "one processor")
	for _, i := range []int{0, 63, 64, 799} {
		assert.Equal(t, y.Row(i), p.Apply(dense.Matrix[T]{}, x.RowRange(i, i+1)).Row(0), "row %d alone", i)
	}
}

func TestRowsDoNotDependOnTheOthersNorOnProcessors(t *testing.T) {
	densetest.Both(t, testRowsAlone[float32], testRowsAlone[float64])
}

// testRowsNotFinite has one row that is not finite among rows turned with it.
func testRowsNotFinite[T dense.Float](t *testing.T) {
	p := random[T](t, 9, 0, 3)
	x := densetest.Gapped[T](4, 50, 9)
	want := p.Apply(dense.Matrix[T]{}, x)
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		x.Set(17, 4, T(bad))
		got := p.Apply(dense.Matrix[T]{}, x)
		for i := range x.Rows {
			if i == 17 {
				assert.NotEqual(t, want.Row(i), got.Row(i), "%v: its row", bad)
			} else {
				assert.Equal(t, want.Row(i), got.Row(i), "%v: row %d", bad, i)
			}
		}
	}
}

func TestRowsNotFinite(t *testing.T) {
	densetest.Both(t, testRowsNotFinite[float32], testRowsNotFinite[float64])
}

func testRowsAllocate[T dense.Float](t *testing.T) {
	if race.Detector {
		t.Skip("the race detector makes pools forget")
	}
	p := random[T](t, 64, 0, 1)
	x := densetest.Gapped[T](2, 130, 64)
	assert.Zero(t, testing.AllocsPerRun(20, func() { p.Apply(x, x); p.ApplyTransposed(x, x) }))
}

func TestRowsDoNotAllocate(t *testing.T) {
	densetest.Both(t, testRowsAllocate[float32], testRowsAllocate[float64])
}
