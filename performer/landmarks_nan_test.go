package performer_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// A value that is not finite reaches its column from the row that sees it on, and nothing else.
func testLandmarksKeepColumnsApart[T dense.Float](t *testing.T) {
	const d, dv, n, at, column = 3, 4, 60, 13, 1
	none := dense.Matrix[T]{}
	q, k, v := densetest.Decaying[T](1, n, d, 3), densetest.Decaying[T](2, n, d, 3), densetest.Decaying[T](3, n, dv, 1)
	forms := sharedForms[T](d)
	z := densetest.Decaying[T](9, 6, d, 3)
	forms["landmarks"] = must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Points: z}, nil))
	forms["centred landmarks"] = must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Points: z, QueryMean: z.Row(0), KeyMean: z.Row(1)}, nil))
	forms["unnormalised landmarks"] = must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Unnormalised: true, Points: z}, nil))
	forms["chosen landmarks"] = must.Have(performer.NewLandmarks(performer.LandmarkOptions[T]{Landmarks: 12}, densetest.Source(1)))
	for name, form := range forms {
		first := 0 // the first row that sees the value
		if f, ok := form.(interface{ Describe() performer.Description }); ok && f.Describe().Causal {
			first = at
		}
		clean := form.Forward(none, q, k, v)
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			hit := v.Clone()
			hit.Row(at)[column] = T(bad)
			requireApart(t, clean, form.Forward(none, q, k, hit), column, first, name)
			maker := form.(streaming[T])
			s, err := maker.NewState(d, dv)
			if err != nil {
				continue
			}
			want := must.Have(maker.NewState(d, dv)).Step(none, q, k, v)
			requireApart(t, want, s.Step(none, q, k, hit), column, at, name+": State")
		}
	}
}

// requireApart requires that a column is not finite from row first on, and that all else is as in
// want.
func requireApart[T dense.Float](t *testing.T, want, got dense.Matrix[T], column, first int, name string) {
	t.Helper()
	for i := range got.Rows {
		for j, x := range got.Row(i) {
			if j == column && i >= first {
				require.False(t, float64(x)-float64(x) == 0, "%s: row %d, column %d is %v", name, i, j, x)
				continue
			}
			tol := 1e4 * densetest.Roundoff[T]() * max(1, math.Abs(float64(want.Row(i)[j])))
			require.InDelta(t, float64(want.Row(i)[j]), float64(x), tol, "%s: row %d, column %d", name, i, j)
		}
	}
}

func TestLandmarksKeepColumnsApart(t *testing.T) {
	densetest.Both(t, testLandmarksKeepColumnsApart[float32], testLandmarksKeepColumnsApart[float64])
}
