package fwht

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/internal/testing/race"
)

// filling says what the elements of a test are.
type filling string

const (
	normals filling = "normal"     // rounded at every stage
	zeros   filling = "zeros"      // 0 and −0, whose sums tell them apart
	wild    filling = "not finite" // normal draws with NaN, Inf and −Inf among them
)

var fillings = []filling{normals, zeros, wild}

// fill draws the elements of x.
func fill[T Float](x []T, f filling, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1)}
	for i := range x {
		switch {
		case f == zeros:
			x[i] = T(math.Copysign(0, float64(rng.IntN(2))-0.5))
		case f == wild && rng.IntN(max(4, len(x)/4)) == 0:
			x[i] = T(special[rng.IntN(len(special))])
		default:
			x[i] = T(rng.NormFloat64())
		}
	}
}

const (
	guards = 16 // elements on either side
	guard  = 12345
)

// guarded returns n elements that begin off elements past the guard words and
// have guard words on both sides, and a check of those.
func guarded[T Float](n, off int) (x []T, intact func() bool) {
	wide := make([]T, n+2*guards+off)
	for i := range wide {
		wide[i] = guard
	}
	x = wide[guards+off:][:n:n]
	return x, func() bool {
		for i, v := range wide {
			if v != guard && (i < guards+off || i >= guards+off+n) {
				return false
			}
		}
		return true
	}
}

// bitsOf returns the bits of v, the same ones for every NaN: which of two NaN an
// addition passes on is the machine's choice.
func bitsOf[T Float](v T) uint64 {
	if v != v {
		return math.MaxUint64
	}
	return math.Float64bits(float64(v))
}

// sameBits fails the test at the first element that differs.
func sameBits[T Float](t *testing.T, want, got []T, format string, args ...any) {
	t.Helper()
	if len(got) != len(want) {
		require.Len(t, got, len(want))
	}
	for i := range want {
		if bitsOf(want[i]) != bitsOf(got[i]) {
			require.Failf(t, "different bits", "%s: element %d is %v, want %v", fmt.Sprintf(format, args...), i, got[i], want[i])
		}
	}
}

// definition runs one stage after another, h = 1, 2, 4, ….
func definition[T Float](x []T) {
	for h := 1; h < len(x); h *= 2 {
		for i := 0; i < len(x); i += 2 * h {
			stage(x[i:i+h], x[i+h:i+2*h])
		}
	}
}

// matches runs f on n elements of every filling, aligned and not, and compares
// with want on the same.
func matches[T Float](t *testing.T, n int, f, want func(x []T), name string) {
	t.Helper()
	for _, kind := range fillings {
		given := make([]T, n)
		fill(given, kind, uint64(n))
		expected := slices.Clone(given)
		want(expected)
		for _, off := range []int{0, 1} {
			x, intact := guarded[T](n, off)
			copy(x, given)
			f(x)
			sameBits(t, expected, x, "%s, %d elements, %s, offset %d", name, n, kind, off)
			if !intact() {
				require.Fail(t, "guard words", "%s, %d elements, %s, offset %d", name, n, kind, off)
			}
		}
	}
}

func testReference[T Float](t *testing.T) {
	for log := range 14 {
		matches[T](t, 1<<log, reference[T], definition[T], "reference")
	}
}

func TestReference(t *testing.T) {
	t.Run("type=float32", testReference[float32])
	t.Run("type=float64", testReference[float64])
}

func testTransform[T Float](t *testing.T) {
	for log := range 21 {
		matches[T](t, 1<<log, Transform[T], reference[T], "Transform")
	}
}

func TestTransform(t *testing.T) {
	t.Run("type=float32", testTransform[float32])
	t.Run("type=float64", testTransform[float64])
}

// referenceBlocks is the reference of TransformBlocks.
func referenceBlocks[T Float](n int) func(x []T) {
	return func(x []T) {
		for ; len(x) > 0; x = x[n:] {
			reference(x[:n])
		}
	}
}

func testBlocks[T Float](t *testing.T) {
	for log := range 16 {
		n := 1 << log
		for count := range 68 {
			if n*count > 1<<13 && count > 3 {
				break
			}
			matches[T](t, n*count, func(x []T) { TransformBlocks(x, n) }, referenceBlocks[T](n), fmt.Sprintf("blocks of %d", n))
		}
	}
}

func TestTransformBlocks(t *testing.T) {
	t.Run("type=float32", testBlocks[float32])
	t.Run("type=float64", testBlocks[float64])
}

func testLarge[T Float](t *testing.T) {
	for _, procs := range []int{1, 2, 3} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		for _, log := range []int{3, 17, 18, 20} {
			matches[T](t, 1<<log, TransformLarge[T], Transform[T], fmt.Sprintf("TransformLarge, GOMAXPROCS = %d", procs))
		}
	}
}

//ci:slow
func TestTransformLarge(t *testing.T) {
	t.Run("type=float32", testLarge[float32])
	t.Run("type=float64", testLarge[float64])
}

// testColumnStages covers what TransformLarge does where there are no kernels.
func testColumnStages[T Float](t *testing.T) {
	const segment, columns = 8, 4
	matches[T](t, segments*segment, func(x []T) {
		referenceBlocks[T](segment)(x)
		for c := 0; c < segment; c += columns {
			columnStages(x[c:], segment, columns)
		}
	}, reference[T], "segments and columns")
}

func TestColumnStages(t *testing.T) {
	t.Run("type=float32", testColumnStages[float32])
	t.Run("type=float64", testColumnStages[float64])
}

func TestTransformsDoNotAllocate(t *testing.T) {
	single, double := make([]float32, 1<<16), make([]float64, 1<<16)
	for log := range 17 {
		n := 1 << log
		assert.Zero(t, testing.AllocsPerRun(5, func() {
			Transform(single[:n])
			Transform(double[:n])
			TransformBlocks(single, n)
			TransformBlocks(double, n)
		}), "n = %d", n)
	}
}

// TestTransformLargeDoesNotAllocate does not use testing.AllocsPerRun, which
// reduces GOMAXPROCS to 1. The Go runtime allocates a goroutine now and then, up to
// 64 for each processor in a row: the best of several rounds counts.
//
//ci:slow
func TestTransformLargeDoesNotAllocate(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector makes pools forget")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	single, double := make([]float32, Large), make([]float64, Large)
	const rounds, runs = 10, 50
	least := uint64(math.MaxUint64)
	for range rounds {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			TransformLarge(single)
			TransformLarge(double)
		}
		runtime.ReadMemStats(&after)
		least = min(least, after.Mallocs-before.Mallocs)
	}
	assert.Less(t, least, uint64(runs))
}

func FuzzTransforms(f *testing.F) {
	for _, seed := range []uint64{1, 2, 3} {
		f.Add(seed, uint8(3*seed), uint8(seed), uint8(seed))
	}
	f.Add(uint64(4), uint8(10), uint8(3), uint8(7))
	f.Add(uint64(5), uint8(17), uint8(1), uint8(2))
	f.Fuzz(func(t *testing.T, seed uint64, log, count, off uint8) {
		n := 1 << (log % 18)
		blocks := int(count) % max(2, 4096/n)
		fuzz[float32](t, seed, n, blocks, int(off%32))
		fuzz[float64](t, seed, n, blocks, int(off%32))
	})
}

// fuzz transforms blocks of n elements off elements away from where memory
// begins.
func fuzz[T Float](t *testing.T, seed uint64, n, blocks, off int) {
	kind := fillings[seed%uint64(len(fillings))]
	for name, f := range map[string]func(x []T){
		"blocks": func(x []T) { TransformBlocks(x, n) },
		"one by one": func(x []T) {
			for ; len(x) > 0; x = x[n:] {
				TransformLarge(x[:n])
			}
		},
	} {
		x, intact := guarded[T](n*blocks, off)
		fill(x, kind, seed)
		want := append([]T(nil), x...)
		referenceBlocks[T](n)(want)
		f(x)
		sameBits(t, want, x, "%s, %d of %d elements, %s, offset %d", name, blocks, n, kind, off)
		require.True(t, intact(), "%s, %d of %d elements, %s, offset %d: guard words", name, blocks, n, kind, off)
	}
}

// TestCaches says that processors with other caches find the same bits: blocks are small, so that
// short vectors go through all ways.
func TestCaches(t *testing.T) {
	defer func(first, large int) { firstCache, memory = first, large }(firstCache, memory)
	for _, c := range [][2]int{{1 << 10, 1 << 15}, {1 << 12, 1 << 13}, {1 << 14, 1 << 17}} {
		firstCache, memory = c[0], c[1]
		testCaches[float32](t)
		testCaches[float64](t)
	}
}

func testCaches[T Float](t *testing.T) {
	const most = 1 << 15
	x, signs, got := make([]T, most), make([]T, most), make([]T, most)
	fill(x, normals, 21)
	for i := range signs {
		signs[i] = T(1 - 2*(i/3%2))
	}
	for n := 64; n <= most; n *= 2 {
		want := make([]T, n)
		Multiply(want, x[:n], signs[:n])
		copy(got, want)
		reference(want)
		Transform(got[:n])
		sameBits(t, want, got[:n], "n = %d, first cache %d, memory %d", n, firstCache, memory)
		Signed(got[:n], x[:n], signs[:n], n)
		sameBits(t, want, got[:n], "signed, n = %d, first cache %d, memory %d", n, firstCache, memory)
	}
}
