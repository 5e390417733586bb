package vecmath

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// maxUlps is the error that the package promises.
const maxUlps = 2

// elementary is a function with the truth that its results are measured by.
type elementary[T Float] struct {
	name  string
	run   func(dst, x []T)
	truth func(x float64) *big.Float
	args  []T
}

func elementaries[T Float]() []elementary[T] {
	sine := func(dst, x []T) { Sincos(dst, make([]T, len(x)), x) }
	cosine := func(dst, x []T) { Sincos(make([]T, len(x)), dst, x) }
	angles, exponents := angles[T](), exponents[T]()
	negative := make([]T, len(exponents))
	for i, v := range exponents {
		negative[i] = -T(math.Abs(float64(v)))
	}
	return []elementary[T]{
		{"Exp", Exp[T], exactExp, exponents},
		{"ELU", ELU[T], exactExp, negative},
		{"Sincos, sine", sine, exactSin, angles},
		{"Sincos, cosine", cosine, exactCos, angles},
		{"LogELU", LogELU[T], exactLog1p, ratios[T]()},
	}
}

// spread returns n positive numbers of every exponent from 2^lo to 2^hi.
func spread[T Float](r *rand.Rand, n int, lo, hi float64) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(math.Ldexp(1+r.Float64(), int(math.Floor(lo+(hi-lo)*r.Float64()))))
	}
	return x
}

// around adds v and its neighbours on both sides.
func around[T Float](x []T, v float64) []T {
	u := T(v)
	x = append(x, u)
	for _, toward := range []float64{math.Inf(-1), math.Inf(1)} {
		w := u
		for range 3 {
			if isSingle[T]() {
				w = T(math.Nextafter32(float32(w), float32(toward)))
			} else {
				w = T(math.Nextafter(float64(w), toward))
			}
			x = append(x, w)
		}
	}
	return x
}

// bothSigns adds −x.
func bothSigns[T Float](x []T) []T {
	for _, v := range x {
		x = append(x, -v)
	}
	return x
}

// exponents returns arguments for e^x: of every size, next to odd multiples of
// ½ln 2, where the reduction jumps, and where results leave the normal numbers.
func exponents[T Float]() []T {
	r := rand.New(rand.NewPCG(1, 1))
	lowest, smallest, highest := -745.1332191019412, -708.3964185322641, 709.782712893384
	if isSingle[T]() {
		lowest, smallest, highest = -103.97207708, -87.33654475, 88.72283905
	}
	x := bothSigns(append(spread[T](r, 300, -160, -8), spread[T](r, 1500, -8, math.Log2(-lowest))...))
	for range 300 {
		x = around(x, (math.Round((lowest+(highest-lowest)*r.Float64())/math.Ln2)+0.5)*math.Ln2)
		x = append(x, T(lowest+(smallest-lowest)*r.Float64()))
	}
	for _, v := range []float64{lowest, smallest, highest, 0} {
		x = around(x, v)
	}
	in := x[:0]
	for _, v := range x { // beyond, results are exact
		if float64(v) > lowest-1 && float64(v) < highest+1e-3 {
			in = append(in, v)
		}
	}
	return in
}

// angles returns arguments for trigonometric functions: of every size, the nearest
// to multiples of ½π of every size, and next to where an implementation may
// change.
func angles[T Float]() []T {
	r := rand.New(rand.NewPCG(2, 1))
	top, bottom := 1023.0, -1074.0
	if isSingle[T]() {
		top, bottom = 127, -149
	}
	x := append(spread[T](r, 300, bottom, top), spread[T](r, 700, -8, 20)...)
	half := newFloat(bigPi.Prec()).SetMantExp(bigPi, -1)
	for i := range 500 {
		n := math.Ldexp(1+r.Float64(), i%int(top))
		if i%2 == 0 {
			n = math.Ldexp(1+r.Float64(), i%32)
		}
		multiple, _ := newFloat(bigPi.Prec()).Mul(half, newFloat(53).SetFloat64(math.Round(n))).Float64()
		x = around(x, multiple)
	}
	// The float64 and the float32 that are next to a multiple of ½π.
	x = append(x, T(math.Ldexp(6381956970095103, min(797, int(top)-53))), T(16367173*0x1p72))
	for _, v := range []float64{math.Pi / 4, math.Pi / 2, math.Pi, 1, 0x1p16, 0x1p20, 0x1p30, 0x1p54} {
		x = around(x, v)
	}
	x = around(x, math.Ldexp(math.Pi/2, int(top)-1))
	return bothSigns(x)
}

// ratios returns arguments x ≥ 0 for log(1 + x).
func ratios[T Float]() []T {
	r := rand.New(rand.NewPCG(3, 1))
	top, bottom := 1023.0, -1074.0
	if isSingle[T]() {
		top, bottom = 127, -149
	}
	x := append(spread[T](r, 300, bottom, -4), spread[T](r, 1000, -4, 0)...)
	x = append(append(x, spread[T](r, 1500, 0, 30)...), spread[T](r, 500, 0, top)...)
	for k := range 60 { // where the exponent of 1 + x changes
		x = around(around(x, math.Ldexp(1, k)-1), math.Ldexp(math.Sqrt2, k-2)-1)
	}
	x = around(x, math.Ldexp(math.Sqrt2, int(top)))
	in := x[:0]
	for _, v := range x {
		if v >= 0 {
			in = append(in, v)
		}
	}
	return in
}

func testAccuracy[T Float](t *testing.T) {
	for _, f := range elementaries[T]() {
		truths := make([]*big.Float, len(f.args))
		for i, v := range f.args {
			truths[i] = f.truth(float64(v))
		}
		everyTier(t, f.name, func(t *testing.T) {
			y := make([]T, len(f.args))
			f.run(y, f.args)
			var worst float64
			var at int
			for i, v := range y {
				if v != v {
					require.Fail(t, "NaN", "%s(%v)", f.name, f.args[i])
				}
				if u := ulps(v, truths[i]); u > worst {
					worst, at = u, i
				}
			}
			assert.Less(t, worst, float64(maxUlps), "%s(%v) = %v, want %.20g", f.name, f.args[at], y[at], truths[at])
			assert.Greater(t, worst, 0.4, "a comparison that finds no rounding compares nothing")
			t.Logf("%d arguments, error up to %.3f ulp at %v", len(y), worst, f.args[at])
		})
	}
}

func TestAccuracy(t *testing.T) {
	t.Run("type=float32", testAccuracy[float32])
	t.Run("type=float64", testAccuracy[float64])
}

// TestPatterns goes through the numbers of float32 in steps, with the truth in
// float64.
//
//ci:slow
func TestPatterns(t *testing.T) {
	const step = 3001
	var x []float32
	for b := uint64(0); b < 1<<32; b += step {
		x = append(x, math.Float32frombits(uint32(b)))
	}
	y, z := make([]float32, len(x)), make([]float32, len(x))
	s, c := make([]float64, len(x)), make([]float64, len(x))
	for i, v := range x {
		s[i], c[i] = sincosOf(float64(v))
	}
	check := func(t *testing.T, name string, y []float32, truth func(i int) float64) {
		for i, v := range y {
			want := truth(i)
			switch {
			case float32(want) == v || want != want && v != v:
			case !(math.Abs(float64(v)-want) < maxUlps*unit32(want)):
				require.Fail(t, "inaccurate", "%s(%v) = %v, want %v", name, x[i], v, want)
			}
		}
	}
	everyTier(t, "", func(t *testing.T) {
		Exp(y, x)
		check(t, "exp", y, func(i int) float64 { return math.Exp(float64(x[i])) })
		LogELU(y, x)
		check(t, "logELU", y, func(i int) float64 {
			if v := float64(x[i]); v < 0 {
				return v + (v - v)
			}
			return math.Log1p(float64(x[i]))
		})
		Sincos(y, z, x)
		check(t, "sin", y, func(i int) float64 { return s[i] })
		check(t, "cos", z, func(i int) float64 { return c[i] })
	})
}

// unit32 returns the unit in the last place of float32 at v.
func unit32(v float64) float64 {
	e := int(math.Float64bits(v)>>52&2047) - 1023
	return math.Float64frombits(uint64(max(e-23, -149)+1023) << 52)
}

func testSpecial[T Float](t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	zero := math.Copysign(0, -1)
	largest, least := math.MaxFloat64, 5e-324
	if isSingle[T]() {
		largest, least = math.MaxFloat32, 1.401298464324817e-45
	}
	for _, c := range []struct {
		name       string
		run        func(dst, x []T)
		args, want []float64
	}{
		{"exp", Exp[T], []float64{0, zero, inf, -inf, nan, largest, -largest, least, -least, 1e4, -1e4},
			[]float64{1, 1, inf, 0, nan, inf, 0, 1, 1, inf, 0}},
		{"expMinus", func(dst, x []T) { ExpMinus(dst, x, 0) }, []float64{0, zero, inf, -inf, nan, largest, -largest, least},
			[]float64{1, 1, inf, 0, nan, inf, 0, 1}},
		{"elu", ELU[T], []float64{0, zero, inf, -inf, nan, largest, -largest, least, -least, 3},
			[]float64{1, 1, inf, nan, nan, largest, 0, 1, 1, 4}},
		{"logELU", LogELU[T], []float64{0, inf, -inf, nan, -1, -largest, least, -least},
			[]float64{0, inf, nan, nan, -1, -largest, least, -least}},
		{"sin", func(dst, x []T) { Sincos(dst, make([]T, len(x)), x) }, []float64{0, zero, inf, -inf, nan, least, -least},
			[]float64{0, zero, nan, nan, nan, least, -least}},
		{"cosine", func(dst, x []T) { Sincos(make([]T, len(x)), dst, x) }, []float64{0, zero, inf, -inf, nan, least, -least},
			[]float64{1, 1, nan, nan, nan, 1, 1}},
	} {
		everyTier(t, c.name, func(t *testing.T) {
			x, y := make([]T, len(c.args)), make([]T, len(c.args))
			for i, v := range c.args {
				x[i] = T(v)
			}
			c.run(y, x)
			for i, want := range c.want {
				assert.True(t, same(y[i], T(want)), "%s(%v) = %v, want %v", c.name, x[i], y[i], want)
			}
		})
	}
}

func TestSpecial(t *testing.T) {
	t.Run("type=float32", testSpecial[float32])
	t.Run("type=float64", testSpecial[float64])
}

// same tells whether a and b have the same bits or are both NaN.
func same[T Float](a, b T) bool {
	if a != a || b != b {
		return a != a && b != b
	}
	return a == b && math.Signbit(float64(a)) == math.Signbit(float64(b))
}

// TestReduce compares the reduction with π to 1400 bits.
func TestReduce(t *testing.T) {
	for _, x := range angles[float64]() {
		if x < math.Pi/4 {
			continue
		}
		quadrant, hi, lo := reduce(x)
		n, r := nearest(x)
		require.Equal(t, n, int(quadrant), "%v", x)
		got := newFloat(precision).Add(exact(hi), exact(lo))
		difference, _ := got.Quo(got.Sub(got, r), r).Float64()
		require.Less(t, math.Abs(difference), 0x1p-61, fmt.Sprint(x))
	}
}
