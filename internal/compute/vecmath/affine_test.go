package vecmath

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func testSimple[T Float](t *testing.T) {
	inf, nan := T(math.Inf(1)), T(math.NaN())
	for _, c := range []struct {
		name       string
		run        func(x []T)
		args, want []T
	}{
		{"Affine", func(x []T) { Affine(x, x, 2, 1) }, []T{0, 1.5, -2, inf, nan}, []T{1, 4, -3, inf, nan}},
		{"AffineEach", func(x []T) { AffineEach(x, 2, []T{1, 2, inf}, 0.5) }, []T{3, -4, 5}, []T{7.5, -5.5, inf}},
		{"Matern", func(x []T) { Matern(x, -1, []T{0, -1, 0, 0}, 1, 1, 1) }, []T{0, 0, nan, -inf}, []T{1, 1, nan, nan}},
		{"Scale", func(x []T) { Scale(x, -2) }, []T{0, 1.5, inf, nan}, []T{T(math.Copysign(0, -1)), -3, -inf, nan}},
		{"Multiply", func(x []T) { Multiply(x, []T{2, 0, 0}) }, []T{3, 4, inf}, []T{6, 0, nan}},
		{"AddScaled", func(x []T) { AddScaled(x, []T{1, 2, -inf}, 3) }, []T{1, 1, 1}, []T{4, 7, -inf}},
		{"Max0", func(x []T) { Max0(x, 3) }, []T{2, -2, 0, T(math.Copysign(0, -1)), inf, -inf, nan}, []T{6, 0, 0, 0, inf, nan, nan}},
		{"Sign", func(x []T) { Sign(x, 3) }, []T{2, -2, 0, T(math.Copysign(0, -1)), inf, -inf, nan}, []T{3, -3, 0, 0, nan, nan, nan}},
	} {
		everyTier(t, c.name, func(t *testing.T) {
			x := append([]T(nil), c.args...)
			c.run(x)
			equalBits(t, c.want, x, c.name)
		})
	}
	everyTier(t, "rounding", func(t *testing.T) {
		// The square of 1 + ε is 1 + 2ε when rounded and 1 + 2ε + ε² before.
		eps := T(0x1p-52)
		if isSingle[T]() {
			eps = 0x1p-23
		}
		x := []T{1 + eps}
		Affine(x, x, 1+eps, -(1 + 2*eps))
		assert.Zero(t, x[0], "the product is rounded")
	})
}

func TestSimple(t *testing.T) {
	t.Run("type=float32", testSimple[float32])
	t.Run("type=float64", testSimple[float64])
}

// testFused compares the exponentials of sums with Exp of the rounded sums.
func testFused[T Float](t *testing.T) {
	x, a, b := normals[T](200), normals[T](201)[1:], normals[T](202)[2:]
	everyTier(t, "", func(t *testing.T) {
		want, got, sums := make([]T, len(x)), make([]T, len(x)), make([]T, len(x))
		compare := func(name string, f func(x, a, b T) T) {
			for i := range x {
				sums[i] = f(x[i], a[i], b[i])
			}
			Exp(want, sums)
			equalBits(t, want, got, name)
		}
		ExpMinus(got, x, 0.3)
		compare("ExpMinus", func(x, _, _ T) T { return x - 0.3 })
		ExpDiff(got, x, a, b)
		compare("ExpDiff", func(x, a, b T) T { return (x - a) - b })
		ExpRelative(got, x, 0.7, a, -0.2, b, 1.1)
		compare("ExpRelative", func(x, a, b T) T { return (x - 0.7) + ((a - -0.2) + (b - 1.1)) })
		copy(got, x)
		Matern(got, -5, a, 0.2, 1.1, 0.3)
		squares := make([]T, len(x))
		for i := range x {
			squares[i] = max(0, -5*((x[i]+a[i])+0.2))
			sums[i] = -T(math.Sqrt(float64(squares[i])))
		}
		Exp(want, sums)
		for i, s := range squares {
			want[i] *= (T(0.3*s) + T(1.1*-sums[i])) + 1
		}
		equalBits(t, want, got, "Matern")
		ELU(got, x)
		Exp(want, x)
		for i, v := range x {
			if v >= 0 {
				want[i] = v + 1
			}
		}
		equalBits(t, want, got, "ELU")
	})
}

func TestFused(t *testing.T) {
	t.Run("type=float32", testFused[float32])
	t.Run("type=float64", testFused[float64])
}
