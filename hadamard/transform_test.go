package hadamard_test

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/race"
)

// stages is the definition: one stage after another, h = 1, 2, 4, ….
func stages[T dense.Float](x []T) {
	for h := 1; h < len(x); h *= 2 {
		for i := range x {
			if i&h == 0 {
				x[i], x[i+h] = x[i]+x[i+h], x[i]-x[i+h]
			}
		}
	}
}

func testTransform[T dense.Float](t *testing.T) {
	for log := range 12 {
		n := 1 << log
		wide := make([]T, n+2)
		wide[0], wide[n+1] = 7, 7
		x := wide[1 : n+1]
		copy(x, densetest.Gapped[T](uint64(n), 1, n).Row(0))
		want := slices.Clone(x)
		stages(want)
		hadamard.Transform(x)
		require.Equal(t, want, x, "n = %d: same bits as the stages in order", n)
		require.Equal(t, [2]T{7, 7}, [2]T{wide[0], wide[n+1]}, "n = %d: guard elements", n)
	}
}

func TestTransform(t *testing.T) {
	densetest.Both(t, testTransform[float32], testTransform[float64])
}

func testTransformRows[T dense.Float](t *testing.T) {
	for _, s := range [][2]int{{0, 4}, {1, 1}, {5, 8}, {300, 256}} {
		x := densetest.Gapped[T](3, s[0], s[1])
		want := x.Clone()
		for i := range want.Rows {
			stages(want.Row(i))
		}
		hadamard.TransformRows(x)
		require.Equal(t, want, x.Clone(), "%d×%d", s[0], s[1])
	}
	for _, procs := range []int{1, 3} {
		old := runtime.GOMAXPROCS(procs)
		x := densetest.Gapped[T](4, 300, 512)
		hadamard.TransformRows(x)
		runtime.GOMAXPROCS(old)
		stage := densetest.Gapped[T](4, 300, 512).Clone()
		for i := range stage.Rows {
			stages(stage.Row(i))
		}
		assert.Equal(t, stage, x.Clone(), "GOMAXPROCS = %d", procs)
	}
}

func TestTransformRows(t *testing.T) {
	densetest.Both(t, testTransformRows[float32], testTransformRows[float64])
}

func testNotFinite[T dense.Float](t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for at := range 24 {
			x := densetest.Gapped[T](5, 1, 24).Row(0)
			x[at] = T(bad)
			hadamard.Transform(x)
			for i, v := range x {
				assert.False(t, math.Abs(float64(v)) <= math.MaxFloat64, "%v at %d: element %d = %v", bad, at, i, v)
			}
		}
	}
}

func TestNotFinite(t *testing.T) {
	densetest.Both(t, testNotFinite[float32], testNotFinite[float64])
}

// testEveryOrder compares with the explicit matrix on small integers, which both sides add without
// rounding.
func testEveryOrder[T dense.Float](t *testing.T) {
	rng := rand.New(exprand.NewSource(3))
	check := func(n int) {
		wide := make([]T, n+2)
		wide[0], wide[n+1] = 7, 7
		x := wide[1 : n+1]
		for i := range x {
			x[i] = T(rng.IntN(17) - 8)
		}
		before := slices.Clone(x)
		h := hadamard.Matrix[T](n)
		want, wantTransposed := make([]T, n), make([]T, n)
		for i := range n {
			for j, v := range h.Row(i) {
				want[i] += v * x[j]
				wantTransposed[j] += v * x[i]
			}
		}
		hadamard.Transform(x)
		require.Equal(t, want, x, "n = %d", n)
		hadamard.TransformTransposed(x)
		for i, v := range before {
			require.Equal(t, T(n)*v, x[i], "n = %d: HᵀH = n·I", n)
		}
		copy(x, before)
		hadamard.TransformTransposed(x)
		require.Equal(t, wantTransposed, x, "n = %d: transposed", n)
		require.Equal(t, [2]T{7, 7}, [2]T{wide[0], wide[n+1]}, "n = %d: guard elements", n)
	}
	for n := 1; n <= 300; n++ {
		if isOrder(n) {
			check(n)
		}
	}
	for _, n := range []int{344, 352, 384, 768, 1376, 1536, 2044} {
		check(n)
	}
}

func TestTransformOfEveryOrder(t *testing.T) {
	densetest.Both(t, testEveryOrder[float32], testEveryOrder[float64])
}

func testDiagonal[T dense.Float](t *testing.T) {
	for _, s := range [][2]int{{1, 1}, {0, 2}, {5, 8}, {8, 8}, {9, 12}, {12, 12}, {70, 72}} {
		x, d := densetest.Gapped[T](1, 1, s[0]).Row(0), densetest.Gapped[T](2, 1, s[0]).Row(0)
		want := make([]T, s[1])
		for i, v := range x {
			want[i] = d[i] * v
		}
		hadamard.Transform(want)
		dst := densetest.Gapped[T](3, 1, s[1]).Row(0)
		hadamard.TransformDiagonal(dst, x, d)
		require.Equal(t, want, dst, "%v", s)
		copy(dst, x)
		hadamard.TransformDiagonal(dst, dst[:s[0]], d)
		require.Equal(t, want, dst, "%v: in place", s)
	}
	assert.PanicsWithValue(t, "hadamard: x has 5 elements and d 5, want the same number, at most the 4 of dst",
		func() { hadamard.TransformDiagonal(make([]T, 4), make([]T, 5), make([]T, 5)) })
	assert.PanicsWithValue(t, "hadamard: x has 3 elements and d 4, want the same number, at most the 4 of dst",
		func() { hadamard.TransformDiagonal(make([]T, 4), make([]T, 3), make([]T, 4)) })
	assert.PanicsWithValue(t, "hadamard: length 5 is not the order of a Hadamard matrix known here, the next is 8",
		func() { hadamard.TransformDiagonal(make([]T, 5), make([]T, 5), make([]T, 5)) })
}

func TestTransformDiagonal(t *testing.T) {
	densetest.Both(t, testDiagonal[float32], testDiagonal[float64])
}

func TestLengthsThatAreNoOrdersPanic(t *testing.T) {
	for n, next := range map[int]string{
		3: "4", 6: "8", 7: "8", 13: "16", 92: "96", 97: "100, the next fast one 128", 1025: "1032, the next fast one 1280",
	} {
		text := fmt.Sprintf(" %d is not the order of a Hadamard matrix known here, the next is %s", n, next)
		assert.PanicsWithValue(t, "hadamard: length"+text, func() { hadamard.Transform(make([]float32, n)) })
		assert.PanicsWithValue(t, "hadamard: length"+text, func() { hadamard.TransformTransposed(make([]float64, n)) })
		assert.PanicsWithValue(t, "hadamard: row length"+text, func() { hadamard.TransformRows(dense.New[float64](2, n)) })
		assert.PanicsWithValue(t, "hadamard: order"+text, func() { hadamard.Matrix[float64](n) })
	}
	assert.PanicsWithValue(t, "hadamard: length 0, want at least 1", func() { hadamard.Transform([]float64{}) })
	assert.PanicsWithValue(t, "hadamard: order -4, want at least 1", func() { hadamard.Matrix[float32](-4) })
	assert.PanicsWithValue(t, fmt.Sprintf("hadamard: order %d is beyond every order that fits in an int", math.MaxInt), func() { hadamard.Matrix[float32](math.MaxInt) })
}

func TestTransformDoesNotAllocate(t *testing.T) {
	if race.Detector {
		t.Skip("the race detector makes pools forget")
	}
	for _, n := range []int{1024, 1536, 11008} {
		x, y := make([]float32, n), make([]float64, n)
		rows := dense.Of(4, n/4, x)
		if n == 11008 {
			rows = dense.Of(1, n, x)
		}
		assert.Zero(t, testing.AllocsPerRun(10, func() {
			hadamard.Transform(x)
			hadamard.Transform(y)
			hadamard.TransformTransposed(y)
			hadamard.TransformRows(rows)
		}), "n = %d", n)
	}
}

// FuzzTransform compares the bits of Transform with those of the definition for any bits of input
// and any power of two, and expects a panic that changes nothing for lengths that are no orders. On
// other orders it takes integers, which come back exactly.
func FuzzTransform(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8})
	f.Add([]byte{})
	f.Add([]byte{0, 0x80, 0xff, 0x7f, 0xc0})
	f.Add([]byte("twelve bytes"))
	f.Add(make([]byte, 44))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1000 {
			return
		}
		x := make([]float64, len(data))
		power := len(x)&(len(x)-1) == 0
		for i, b := range data {
			x[i] = float64(int8(b))
			if power {
				x[i] = math.Ldexp(x[i], int(b)*3-300)
			}
		}
		want := slices.Clone(x)
		switch {
		case !isOrder(len(x)):
			assert.Panics(t, func() { hadamard.Transform(x) })
		case power:
			stages(want)
			hadamard.Transform(x)
		default:
			hadamard.Transform(x)
			hadamard.TransformTransposed(x)
			for i := range want {
				want[i] *= float64(len(x))
			}
		}
		assert.Equal(t, want, x)
	})
}

var update = flag.Bool("update", false, "write testdata anew")

// testVectors compares vectors with rows, bit for bit, also in place and in the memory of the
// longer vector.
func testVectors[T dense.Float](t *testing.T) {
	for _, d := range []int{1, 2, 3, 5, 12, 16, 42, 64, 100, 300, 384, 768, 1000, 1024} {
		for _, factors := range []int{1, 2, 3} {
			r, err := hadamard.NewRotation[T](d, hadamard.RotationOptions{Factors: factors}, exprand.NewSource(uint64(d)))
			require.NoError(t, err)
			_, order := r.Dims()
			x := densetest.Gapped[T](3, 1, d)
			y := r.Apply(dense.Matrix[T]{}, x)
			back := r.ApplyTransposed(dense.Matrix[T]{}, y)
			before := slices.Clone(x.Row(0))
			got := r.ApplyVec(nil, x.Row(0))
			require.Equal(t, y.Row(0), got, "d = %d", d)
			require.Equal(t, before, x.Row(0), "x is only read")
			require.Equal(t, back.Row(0), r.ApplyTransposedVec(nil, got), "d = %d: transposed", d)
			require.Equal(t, y.Row(0), got, "y is only read")

			guarded := slices.Repeat([]T{7}, order+2)
			v := guarded[1 : order+1 : order+1]
			copy(v, x.Row(0))
			require.Equal(t, y.Row(0), r.ApplyVec(v, v[:d]), "d = %d: in place", d)
			require.Equal(t, back.Row(0), r.ApplyTransposedVec(v[:d], v), "d = %d: transposed in place", d)
			require.Equal(t, [2]T{7, 7}, [2]T{guarded[0], guarded[order+1]}, "d = %d: guard elements", d)
		}
	}
	r := newRotation[T](t, 3, 3, 1)
	assert.PanicsWithValue(t, "hadamard: dst has length 4 and x 4, want 4 and 3 for a rotation from R^3 into R^4",
		func() { r.ApplyVec(nil, make([]T, 4)) })
	assert.PanicsWithValue(t, "hadamard: dst has length 4 and y 4, want 3 and 4 for a rotation from R^3 into R^4",
		func() { r.ApplyTransposedVec(make([]T, 4), make([]T, 4)) })
}

func TestRotationOfVectors(t *testing.T) {
	densetest.Both(t, testVectors[float32], testVectors[float64])
}

// golden says what the seed c gives: checksums of the bits of R·x and of RᵀR·x.
func golden(t *testing.T, c uint64, d int, opts hadamard.RotationOptions) string {
	line := fmt.Sprintf("seed=%d d=%d factors=%d order=%d", c, d, opts.Factors, opts.Order)
	single, err := hadamard.NewRotation[float32](d, opts, rand.NewPCG(c, c))
	require.NoError(t, err)
	double, err := hadamard.NewRotation[float64](d, opts, rand.NewPCG(c, c))
	require.NoError(t, err)
	return fmt.Sprintf("%s float32=%s float64=%s", line, sums(single), sums(double))
}

// sums returns the checksums of R·x and RᵀR·x.
func sums[T dense.Float](r *hadamard.Rotation[T]) string {
	d, _ := r.Dims()
	x := make([]T, d)
	for i := range x {
		x[i] = T(uint32(i+1)*2654435769>>8)/(1<<20) - 8
	}
	y := r.ApplyVec(nil, x)
	return densetest.Checksum(y) + "," + densetest.Checksum(r.ApplyTransposedVec(nil, y))
}

// TestGolden holds the promise that a seed gives the same rotation, with the same bits, in every
// version and on every platform.
//
//ci:portable
func TestGolden(t *testing.T) {
	path := filepath.Join("testdata", "rotations.txt")
	var lines []string
	for i, d := range []int{1, 2, 3, 5, 12, 20, 28, 36, 60, 64, 65, 100, 200, 300, 384, 500, 768, 1000, 1024, 1536, 3072} {
		lines = append(lines, golden(t, uint64(i), d, hadamard.RotationOptions{}))
	}
	for i, d := range []int{3, 44, 344, 2000} {
		lines = append(lines, golden(t, uint64(100+i), d, hadamard.RotationOptions{Factors: i + 1, Order: hadamard.NextOrder(d)}))
	}
	densetest.GoldenLines(t, path, lines, *update)
}
