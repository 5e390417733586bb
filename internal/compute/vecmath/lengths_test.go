package vecmath

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// elementwise is a function of slices whose first ones are written.
type elementwise[T Float] struct {
	name      string
	slices    int
	written   int
	run       func(s [][]T)
	reference func(s [][]T) // with the same results in every tier, or nil
	aliases   [][2]int      // slices that may be one
}

func elementwises[T Float]() []elementwise[T] {
	return []elementwise[T]{
		{"Exp", 2, 1, func(s [][]T) { Exp(s[0], s[1]) }, nil, [][2]int{{0, 1}}},
		{"ExpMinus", 2, 1, func(s [][]T) { ExpMinus(s[0], s[1], 0.3) }, nil, [][2]int{{0, 1}}},
		{"ExpDiff", 4, 1, func(s [][]T) { ExpDiff(s[0], s[1], s[2], s[3]) }, nil, [][2]int{{0, 1}, {0, 2}, {0, 3}}},
		{"ExpRelative", 4, 1, func(s [][]T) { ExpRelative(s[0], s[1], 0.7, s[2], -0.2, s[3], 1.1) }, nil, [][2]int{{0, 1}, {0, 2}, {0, 3}}},
		{"ELU", 2, 1, func(s [][]T) { ELU(s[0], s[1]) }, nil, [][2]int{{0, 1}}},
		{"Matern", 2, 1, func(s [][]T) { Matern(s[0], -1.1, s[1], 0.3, 0.7, 0.2) }, nil, [][2]int{{0, 1}}},
		{"LogELU", 2, 1, func(s [][]T) { LogELU(s[0], s[1]) }, nil, [][2]int{{0, 1}}},
		{"Sincos", 3, 2, func(s [][]T) { Sincos(s[0], s[1], s[2]) }, nil, [][2]int{{0, 2}, {1, 2}}},
		{"Affine", 2, 1, func(s [][]T) { Affine(s[0], s[1], 1.1, 0.3) }, func(s [][]T) { affineReference(s[0], s[1], 1.1, 0.3) }, nil},
		{"AffineEach", 2, 1, func(s [][]T) { AffineEach(s[0], 1.1, s[1], 0.3) }, func(s [][]T) { affineEachReference(s[0], 1.1, s[1], 0.3) }, [][2]int{{0, 1}}},
		{"Scale", 1, 1, func(s [][]T) { Scale(s[0], 1.1) }, func(s [][]T) {
			for i := range s[0] {
				s[0][i] *= 1.1
			}
		}, nil},
		{"Multiply", 2, 1, func(s [][]T) { Multiply(s[0], s[1]) }, func(s [][]T) { multiplyReference(s[0], s[1]) }, [][2]int{{0, 1}}},
		{"AddScaled", 2, 1, func(s [][]T) { AddScaled(s[0], s[1], 1.1) }, func(s [][]T) { addScaledReference(s[0], s[1], 1.1) }, [][2]int{{0, 1}}},
		{"Max0", 1, 1, func(s [][]T) { Max0(s[0], 1.1) }, func(s [][]T) { max0Reference(s[0], 1.1) }, nil},
		{"Sign", 1, 1, func(s [][]T) { Sign(s[0], 1.1) }, func(s [][]T) { signReference(s[0], 1.1) }, nil},
		{"Sign, negative", 1, 1, func(s [][]T) { Sign(s[0], -1.1) }, func(s [][]T) { signReference(s[0], -1.1) }, nil},
	}
}

// longest is a length with two blocks of the largest size, single vectors and a
// rest.
const longest = 2*64 + 4*16 + 1

// mixed returns normal variates with numbers of all kinds among them, at random
// places.
func mixed[T Float](r *rand.Rand, n int) []T {
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 5e-324, -1e-40, 1e30, -1e300, 1e5, -1, -2, 88.5, -104, -100}
	x := make([]T, n)
	for i := range x {
		x[i] = T(3 * r.NormFloat64())
		if r.IntN(5) == 0 {
			x[i] = T(special[r.IntN(len(special))])
		}
	}
	return x
}

func clone[T Float](s [][]T) [][]T {
	c := make([][]T, len(s))
	for i := range s {
		c[i] = append([]T(nil), s[i]...)
	}
	return c
}

func equalBits[T Float](t *testing.T, want, got []T, text string) {
	if len(got) != len(want) {
		require.Len(t, got, len(want))
	}
	for i := range want {
		if !same(want[i], got[i]) {
			require.Fail(t, "different", "%s: element %d of %d is %v, want %v", text, i, len(want), got[i], want[i])
		}
	}
}

const guard = 12345

// guarded returns a copy of x with words before and behind, which check looks at.
func guarded[T Float](x []T) (inner []T, check func(t *testing.T)) {
	const words = 32
	all := make([]T, len(x)+2*words)
	for i := range all {
		all[i] = guard
	}
	inner = all[words : words+len(x)]
	copy(inner, x)
	return inner, func(t *testing.T) {
		for i, v := range all {
			if (i < words || i >= words+len(x)) && v != guard {
				require.Equal(t, T(guard), v, "a word at distance %d of %d elements was written", i-words, len(x))
			}
		}
	}
}

// testLengths requires that an element has the bits that it has alone, in slices
// of every length and in place, and that nothing else is written.
func testLengths[T Float](t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for _, f := range elementwises[T]() {
		all := make([][]T, f.slices)
		for i := range all {
			all[i] = mixed[T](r, longest)
		}
		everyTier(t, f.name, func(t *testing.T) {
			alone := clone(all)
			for i := range longest {
				one := make([][]T, f.slices)
				for j := range one {
					one[j] = alone[j][i : i+1]
				}
				f.run(one)
			}
			if f.reference != nil {
				want := clone(all)
				f.reference(want)
				for j := range want {
					equalBits(t, want[j], alone[j], "against the reference")
				}
			}
			for n := range longest + 1 {
				s, checks := make([][]T, f.slices), make([]func(*testing.T), f.slices)
				for j := range s {
					s[j], checks[j] = guarded(all[j][:n])
				}
				f.run(s)
				for j := range s {
					want := all[j]
					if j < f.written {
						want = alone[j]
					}
					equalBits(t, want[:n], s[j], fmt.Sprintf("slice %d", j))
					checks[j](t)
				}
				for _, alias := range f.aliases {
					a, b := alias[0], alias[1]
					apart := clone(all)
					copy(apart[a], apart[b])
					together := clone(apart)
					together[a] = together[b]
					for j := range apart {
						apart[j], together[j] = apart[j][:n], together[j][:n]
					}
					f.run(apart)
					f.run(together)
					for j := range f.written {
						equalBits(t, apart[j], together[j], fmt.Sprintf("slice %d is slice %d", a, b))
					}
				}
			}
		})
	}
}

func TestLengths(t *testing.T) {
	t.Run("type=float32", testLengths[float32])
	t.Run("type=float64", testLengths[float64])
}

func testAllocations[T Float](t *testing.T) {
	everyTier(t, "", func(t *testing.T) {
		assert.Zero(t, testing.AllocsPerRun(5, func() {
			// Slices on the stack have to stay there.
			var x, y, z [100]T
			x[50] = 1e30
			Exp(y[:], x[:])
			ExpMinus(y[:], x[:], 1)
			ExpDiff(y[:], x[:], z[:], z[:])
			ExpRelative(y[:], x[:], 1, z[:], 1, z[:], 1)
			Matern(x[:], -1, y[:], 0, 1, 0)
			ELU(y[:], x[:])
			LogELU(y[:], x[:])
			Sincos(y[:], z[:], x[:])
			PeakRows(y[:], x[:], len(x), 1)
			ExpRows(x[:], len(x), 1, y[:], y[:], z[:])
			Affine(y[:], x[:], Peak(y[:]), T(HalfSquaredNorm(y[:])))
			AffineEach(x[:], T(PeakSum(x[:], y[:], z[:])), y[:], 0)
			Scale(x[:], 2)
			Multiply(x[:], y[:])
			AddScaled(x[:], y[:], 2)
			Max0(x[:], 1)
			Sign(x[:], 1)
		}))
	})
}

func TestAllocations(t *testing.T) {
	t.Run("type=float32", testAllocations[float32])
	t.Run("type=float64", testAllocations[float64])
}

// TestShort requires a panic for every slice that is shorter than x, even if its
// capacity suffices.
func TestShort(t *testing.T) {
	x, short := make([]float32, 5), make([]float32, 5)[:4]
	for name, f := range map[string]func(){
		"Exp":           func() { Exp(short, x) },
		"ExpMinus":      func() { ExpMinus(short, x, 1) },
		"ExpDiff":       func() { ExpDiff(short, x, x, x) },
		"ExpDiff a":     func() { ExpDiff(x, x, short, x) },
		"ExpDiff b":     func() { ExpDiff(x, x, x, short) },
		"ExpRelative":   func() { ExpRelative(short, x, 0, x, 0, x, 0) },
		"ExpRelative a": func() { ExpRelative(x, x, 0, short, 0, x, 0) },
		"ExpRelative b": func() { ExpRelative(x, x, 0, x, 0, short, 0) },
		"Matern":        func() { Matern(x, -1, short, 0, 1, 0) },
		"ELU":           func() { ELU(short, x) },
		"LogELU":        func() { LogELU(short, x) },
		"Sincos":        func() { Sincos(short, make([]float32, 5), x) },
		"Sincos, cos":   func() { Sincos(make([]float32, 5), short, x) },
		"PeakSum a":     func() { PeakSum(x, short, x) },
		"PeakSum b":     func() { PeakSum(x, x, short) },
		"AffineEach":    func() { AffineEach(x, 1, short, 0) },
		"Multiply":      func() { Multiply(x, short) },
		"AddScaled":     func() { AddScaled(short, x, 1) },
	} {
		assert.Panics(t, f, name)
	}
	assert.NotPanics(t, func() { Exp(x, short) }, "a longer one is used as far as needed")
}
