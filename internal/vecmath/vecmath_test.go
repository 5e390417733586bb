package vecmath

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func test[T Float](t *testing.T) {
	inf := T(math.Inf(1))
	x := []T{0, 1, -1, 3.5, -700, 90, 1e6, inf, -inf, T(math.NaN())}
	e, s, c := make([]T, len(x)), make([]T, len(x)), make([]T, len(x))
	Exp(e, x)
	Sincos(s, c, x)
	same := func(want float64, got T, name string, arg T) {
		if math.IsNaN(want) {
			assert.True(t, got != got, "%s(%v) = %v, want NaN", name, arg, got)
			return
		}
		assert.Equal(t, T(want), got, "%s(%v)", name, arg)
	}
	for i, v := range x {
		same(math.Exp(float64(v)), e[i], "exp", v)
		same(math.Sin(float64(v)), s[i], "sin", v)
		same(math.Cos(float64(v)), c[i], "cos", v)
	}
	y := append([]T(nil), x...)
	Exp(y[:4], y[:4])
	require.Equal(t, e[:4], y[:4], "in place")
	assert.Panics(t, func() { Exp(e[:2:2], x) })
}

func TestFunctions(t *testing.T) {
	t.Run("type=float32", test[float32])
	t.Run("type=float64", test[float64])
}
