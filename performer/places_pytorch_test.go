package performer_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// placedCase is a case of testdata/places.py.
type placedCase struct {
	Causal              bool
	Window, Sinks, Head int
	Slope               float64
	Out, DQ, DK, DV     [][]float64
}

// TestPlacesPyTorch holds windows, sinks and ALiBi to outputs and gradients of PyTorch in float64,
// and states to the same outputs.
func TestPlacesPyTorch(t *testing.T) {
	data, err := os.ReadFile("testdata/places.json")
	require.NoError(t, err)
	var golden struct {
		Rows  []int
		Cases []placedCase
	}
	require.NoError(t, json.Unmarshal(data, &golden))
	require.Len(t, golden.Cases, 18)
	// The slopes of PyTorch's cases are those of two heads and the first two of eight.
	assert.Equal(t, golden.Cases[3].Slope, performer.ALiBiSlopes(2)[0])
	assert.Equal(t, golden.Cases[6].Slope, performer.ALiBiSlopes(8)[1])
	densetest.Both(t,
		func(t *testing.T) { testPlacesPyTorch[float32](t, golden.Rows, golden.Cases, 1e-5) },
		func(t *testing.T) { testPlacesPyTorch[float64](t, golden.Rows, golden.Cases, 1e-12) })
}

func testPlacesPyTorch[T dense.Float](t *testing.T, rows []int, cases []placedCase, tolerance float64) {
	const l, d, dv = 300, 6, 3
	var none dense.Matrix[T]
	for _, c := range cases {
		e := must.Have(performer.NewExact[T](performer.ExactOptions{Softmax: performer.Softmax{Causal: c.Causal}, Window: c.Window, Sinks: c.Sinks, Slope: c.Slope}))
		h := float64(c.Head)
		q, k := waves[T](l, d, 2, 1.3, h), waves[T](l, d, 2, 0.7, 2+h)
		v, w := waves[T](l, dv, 1, 1.9, 4+h), waves[T](l, dv, 1, 2.3, 6+h)
		check := func(what string, want [][]float64, got dense.Matrix[T]) {
			t.Helper()
			for n, i := range rows {
				for j, x := range want[n] {
					require.InDelta(t, x, float64(got.At(i, j)), tolerance*(1+math.Abs(x)), "%+v: %s, row %d, column %d", e, what, i, j)
				}
			}
		}
		check("output", c.Out, e.Forward(none, q, k, v))
		dq, dk, dvalues := e.Backward(none, none, none, q, k, v, w)
		check("gradient of q", c.DQ, dq)
		check("gradient of k", c.DK, dk)
		check("gradient of v", c.DV, dvalues)
		if c.Causal {
			s, err := e.NewState(d, dv)
			require.NoError(t, err)
			out := dense.New[T](l, dv)
			for i := range l {
				s.Step(out.RowRange(i, i+1), q.RowRange(i, i+1), k.RowRange(i, i+1), v.RowRange(i, i+1))
			}
			check("state", c.Out, out)
		}
	}
}

// waves returns the matrix with elements size·sin(a·n + b), where n counts over rows.
func waves[T dense.Float](rows, cols int, size, a, b float64) dense.Matrix[T] {
	m := dense.New[T](rows, cols)
	for i := range rows {
		for j := range cols {
			m.Set(i, j, T(size*math.Sin(a*float64(i*cols+j)+b)))
		}
	}
	return m
}
