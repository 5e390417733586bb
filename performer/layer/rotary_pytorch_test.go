package layer_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer/layer"
)

// rotaryCase is a case of testdata/rotary.py.
type rotaryCase struct {
	D, Dim     int
	Base       float64
	Neighbours bool
	Out        [][]float64
}

// TestRotaryPyTorch compares turned rows with those that PyTorch turns as complex numbers in
// float64. Both round an angle to some 2⁻⁵² of its size, 1e-11 together at position 20,000.
func TestRotaryPyTorch(t *testing.T) {
	data, err := os.ReadFile("testdata/rotary.json")
	require.NoError(t, err)
	var golden struct {
		Positions []int
		Cases     []rotaryCase
	}
	require.NoError(t, json.Unmarshal(data, &golden))
	require.Len(t, golden.Cases, 6)
	densetest.Both(t,
		func(t *testing.T) { testRotaryPyTorch[float32](t, golden.Positions, golden.Cases, 1e-6) },
		func(t *testing.T) { testRotaryPyTorch[float64](t, golden.Positions, golden.Cases, 1e-12) })
}

func testRotaryPyTorch[T dense.Float](t *testing.T, positions []int, cases []rotaryCase, tolerance float64) {
	for _, c := range cases {
		opts := layer.RotaryOptions{Dim: c.Dim, Base: c.Base}
		if c.Neighbours {
			opts.Layout = layer.RotaryNeighbours
		}
		x := dense.New[T](len(positions), len(c.Out[0]))
		for i := range x.Data {
			x.Data[i] = T(math.Sin(0.7 * float64(i)))
		}
		must.Have(layer.NewRotary[T](c.D, opts)).Angles(layer.Angles[T]{}, positions).Turn(x)
		for i, row := range c.Out {
			for j, want := range row {
				within := tolerance
				if positions[i] > 4096 {
					within += 1e-11
				}
				require.InDelta(t, want, float64(x.At(i, j)), within, "%+v, position %d, column %d", opts, positions[i], j)
			}
		}
	}
}
