package kernels_test

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/kernels"
)

// affine is the map of the pullbacks of these tests, R^4 → R^3.
func affine(k kernels.Kernel) kernels.Pullback {
	return kernels.Pullback{
		K:      k,
		A:      dense.Of(3, 4, []float64{1, 2, 0, -1, 0.5, 0, 3, 1, -2, 1, 1, 0.25}),
		Centre: []float64{1, -1, 2, 0.5},
		Offset: []float64{0.25, -3, 1},
	}
}

// The image of 0 is computed by hand.
func TestPullbackIsTheKernelOfTheImages(t *testing.T) {
	image := func(x []float64) []float64 {
		k, z := affine(nil), make([]float64, 3)
		for i := range z {
			z[i] = k.Offset[i]
			for j, v := range x {
				z[i] += k.A.At(i, j) * (v - k.Centre[j])
			}
		}
		return z
	}
	x, y := []float64{0, 0, 0, 0}, []float64{0.5, -2, 1, 3}
	assert.InDeltaSlice(t, []float64{1 + 0.5 + 0.25, -0.5 - 6 - 0.5 - 3, 2 + 1 - 2 - 0.125 + 1}, image(x), 1e-14)
	for _, k := range []kernels.Kernel{kernels.DotProduct{}, kernels.Gaussian{LengthScale: 4}, kernels.Laplacian{LengthScale: 9}, kernels.Polynomial{Degree: 2, Offset: 1}} {
		want := k.Eval(image(x), image(y))
		assert.InEpsilon(t, want, affine(k).Eval(x, y), 1e-13, "%v", k)
		plain := affine(k)
		plain.Centre, plain.Offset = nil, nil
		zero, shifted := make([]float64, 3), make([]float64, 3)
		for i := range shifted {
			shifted[i] = floats.Dot(plain.A.Row(i), y)
		}
		assert.InEpsilon(t, 1+k.Eval(zero, shifted), 1+plain.Eval(x, y), 1e-13, "%v without centre and offset", k)
	}
}

func small() kernels.Patches {
	return kernels.Patches{Height: 4, Width: 5, Channels: 2, Size: 2, Stride: 1, Padding: 1, Pool: 2}
}

// wholes are the kernels that make other points first, on points of R^d.
func wholes() map[int][]kernels.Kernel {
	bag, places := small(), small()
	bag.Pool, places.Pool = 0, 1
	return map[int][]kernels.Kernel{
		4: {affine(kernels.Gaussian{LengthScale: 5}), affine(kernels.Sum{kernels.Laplacian{LengthScale: 6}, kernels.DotProduct{}}), kernels.Homogeneous{K: kernels.Angular{}}},
		40: {
			kernels.Convolution{K: kernels.Gaussian{LengthScale: 1.5}, Patches: small()}, kernels.Convolution{K: kernels.Laplacian{LengthScale: 3}, Patches: bag},
			kernels.Convolution{K: kernels.Polynomial{Degree: 2, Offset: 1}, Patches: places}, kernels.Convolution{K: kernels.Homogeneous{K: kernels.Matern{}}, Patches: small()},
			kernels.Sum{kernels.Laplacian{}, kernels.Convolution{K: kernels.Gaussian{}, Patches: bag}},
		},
	}
}

func testGramOfOtherPoints[T dense.Float](t *testing.T) {
	for d, ks := range wholes() {
		x, y := cloud[T](1, 21, d, 0.2, 1), cloud[T](2, 90, d, 0, 1)
		for _, k := range ks {
			g, one := kernels.Gram(dense.Matrix[T]{}, k, x, y), kernels.Gram(dense.Matrix[T]{}, k, x, dense.Matrix[T]{})
			part := kernels.Gram(dense.Matrix[T]{}, k, x.RowRange(5, 9), y.RowRange(70, 90))
			assert.Equal(t, dense.Copy(dense.Matrix[T]{}, g.RowRange(5, 9).ColRange(70, 90)), part, "%v: part", k)
			before := runtime.GOMAXPROCS(3)
			assert.Equal(t, g, kernels.Gram(dense.Matrix[T]{}, k, x, y), "%v: three processors", k)
			runtime.GOMAXPROCS(before)
			own := make([]float64, y.Rows)
			for j := range own {
				own[j] = eval(k, y.Row(j), y.Row(j))
			}
			near := func(want float64, got T, tolerance float64, i, j int) {
				if !(math.Abs(float64(got)-want) <= tolerance) {
					require.InDelta(t, want, float64(got), tolerance, "%v (%d, %d)", k, i, j)
				}
			}
			for i := range x.Rows {
				diagonal := eval(k, x.Row(i), x.Row(i))
				for j := range y.Rows {
					want := eval(k, x.Row(i), y.Row(j))
					near(want, g.At(i, j), 1e-12*math.Sqrt(diagonal*own[j])+densetest.Roundoff[T]()*math.Abs(want), i, j)
				}
				for j := range i {
					require.Equal(t, one.At(i, j), one.At(j, i), "%v: symmetric", k)
					near(eval(k, x.Row(i), x.Row(j)), one.At(i, j), 2*densetest.Roundoff[T]()*math.Abs(diagonal)+1e-11, i, j)
				}
				require.Equal(t, T(diagonal), one.At(i, i), "%v: diagonal", k)
			}
		}
	}
}

func TestGramOfOtherPoints(t *testing.T) {
	densetest.Both(t, testGramOfOtherPoints[float32], testGramOfOtherPoints[float64])
}

func TestGramOfOtherPointsShowsNaN(t *testing.T) {
	for d, ks := range wholes() {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			for j := range d {
				x := cloud[float64](8, 3, d, 0, 1)
				x.Set(1, j, bad)
				for _, k := range ks {
					g := kernels.Gram(dense.Matrix[float64]{}, k, x, dense.Matrix[float64]{})
					for i := range 9 {
						v := g.At(i/3, i%3)
						require.Equal(t, i/3 == 1 || i%3 == 1, math.IsNaN(v) || math.IsInf(v, 0), "%v with %v at %d: (%d, %d) = %v", k, bad, j, i/3, i%3, v)
					}
				}
			}
		}
	}
}

// A group of patches may be part of an image: more than 2048 of them are here.
func TestConvolutionOfManyPatches(t *testing.T) {
	k := kernels.Convolution{K: kernels.DotProduct{}, Patches: kernels.Patches{Height: 50, Width: 50, Size: 1}}
	x, y := cloud[float64](3, 3, 2500, 1, 1), cloud[float64](4, 2, 2500, 2, 1)
	g := kernels.Gram(dense.Matrix[float64]{}, k, x, y)
	for i := range 3 {
		for j := range 2 {
			want := floats.Sum(x.Row(i)) / 2500 * floats.Sum(y.Row(j)) / 2500
			assert.InEpsilon(t, want, g.At(i, j), 1e-12)
		}
	}
}

func TestHomogeneousAtZero(t *testing.T) {
	k := kernels.Homogeneous{K: kernels.Gaussian{}}
	x := dense.Of(3, 2, []float64{0, 0, 3, 4, 1e-300, 0})
	g := kernels.Gram(dense.Matrix[float64]{}, k, x, dense.Matrix[float64]{})
	assert.Equal(t, []float64{0, 0, 0}, g.Row(0))
	assert.InEpsilon(t, 5e-300*math.Exp(-0.4), g.At(1, 2), 1e-14)
	assert.Zero(t, k.Eval(x.Row(0), x.Row(1)))
}

func TestErrorsOfOtherPoints(t *testing.T) {
	of := func(change func(k *kernels.Pullback)) kernels.Pullback {
		k := affine(kernels.Gaussian{})
		k.A = k.A.Clone()
		change(&k)
		return k
	}
	cut := func(change func(p *kernels.Patches)) kernels.Convolution {
		k := kernels.Convolution{K: kernels.Gaussian{}, Patches: small()}
		change(&k.Patches)
		return k
	}
	for want, k := range map[string]kernels.Kernel{
		"kernels: Pullback.K is nil":                                                     of(func(k *kernels.Pullback) { k.K = nil }),
		"kernels: Pullback.A is 0×0, want at least 1×1":                                  of(func(k *kernels.Pullback) { k.A = dense.Matrix[float64]{} }),
		"kernels: Pullback.Centre has length 2, A is 3×4":                                of(func(k *kernels.Pullback) { k.Centre = k.Centre[:2] }),
		"kernels: Pullback.Offset has length 2, A is 3×4":                                of(func(k *kernels.Pullback) { k.Offset = k.Offset[:2] }),
		"kernels: Pullback.A: dense: 11 elements cannot hold a 3×4 matrix of stride 4":   of(func(k *kernels.Pullback) { k.A.Data = k.A.Data[:11] }),
		"kernels: Pullback.A[1][3] = NaN, want a finite number":                          of(func(k *kernels.Pullback) { k.A.Set(1, 3, math.NaN()) }),
		"kernels: Pullback.Centre[0] = +Inf, want a finite number":                       of(func(k *kernels.Pullback) { k.Centre = []float64{math.Inf(1), 0, 0, 0} }),
		"kernels: Pullback.Offset[2] = -Inf, want a finite number":                       of(func(k *kernels.Pullback) { k.Offset = []float64{0, 0, math.Inf(-1)} }),
		"kernels: Gaussian.LengthScale = -1, want a positive finite number, or 0 for 1":  of(func(k *kernels.Pullback) { k.K = kernels.Gaussian{LengthScale: -1} }),
		"kernels: Homogeneous.K is nil":                                                  kernels.Homogeneous{},
		"kernels: Softmax.Gamma = -2, want a positive finite number, or 0 for 1":         kernels.Homogeneous{K: kernels.Softmax{Gamma: -2}},
		"kernels: Convolution.K is nil":                                                  kernels.Convolution{Patches: small()},
		"kernels: Laplacian.LengthScale = -3, want a positive finite number, or 0 for 1": kernels.Convolution{K: kernels.Laplacian{LengthScale: -3}, Patches: small()},
		"kernels: Patches.Height = 0, want at least 1":                                   cut(func(p *kernels.Patches) { p.Height = 0 }),
		"kernels: Patches.Width = -1, want at least 1":                                   cut(func(p *kernels.Patches) { p.Width = -1 }),
		"kernels: Patches.Channels = -1, want at least 0":                                cut(func(p *kernels.Patches) { p.Channels = -1 }),
		"kernels: Patches.Size = 0, want at least 1":                                     cut(func(p *kernels.Patches) { p.Size = 0 }),
		"kernels: Patches.Stride = -1, want at least 0":                                  cut(func(p *kernels.Patches) { p.Stride = -1 }),
		"kernels: Patches.Padding = -1, want at least 0":                                 cut(func(p *kernels.Patches) { p.Padding = -1 }),
		"kernels: Patches.Pool = -1, want at least 0":                                    cut(func(p *kernels.Patches) { p.Pool = -1 }),
		"kernels: Patches.Stride = 3 is more than Size = 2 and leaves pixels out":        cut(func(p *kernels.Patches) { p.Stride = 3 }),
		"kernels: Patches.Padding = 2, want less than Size = 2":                          cut(func(p *kernels.Patches) { p.Padding = 2 }),
		"kernels: Patches.Size = 7 is more than Height + 2·Padding = 6":                  cut(func(p *kernels.Patches) { p.Size = 7 }),
		"kernels: patches of size 2, stride 2 and padding 0 end at pixel 4 of Width = 5": cut(func(p *kernels.Patches) { p.Stride, p.Padding = 2, 0 }),
	} {
		assert.EqualError(t, kernels.Check(k), want)
	}
	assert.PanicsWithValue(t, "kernels: x has length 3, Pullback.A is 3×4", func() { affine(kernels.Gaussian{}).Eval([]float64{1, 2, 3}, []float64{1, 2, 3}) })
	short := of(func(k *kernels.Pullback) { k.A.Data = nil })
	assert.PanicsWithValue(t, "kernels: Pullback.A: dense: 0 elements cannot hold a 3×4 matrix of stride 4", func() { short.Eval(make([]float64, 4), make([]float64, 4)) })
	assert.PanicsWithValue(t, "kernels: Pullback.K is nil", func() { affine(nil).Eval(nil, nil) })
	assert.PanicsWithValue(t, "kernels: Homogeneous.K is nil", func() { kernels.Homogeneous{}.Eval(nil, nil) })
	assert.PanicsWithValue(t, "kernels: x is 1×3, want 1×40", func() { kernels.Convolution{K: kernels.Gaussian{}, Patches: small()}.Eval(make([]float64, 3), nil) })
	assert.PanicsWithValue(t, "kernels: x is 2×3, images have length 40", func() {
		kernels.Gram(dense.Matrix[float64]{}, kernels.Convolution{K: kernels.Gaussian{}, Patches: small()}, dense.New[float64](2, 3), dense.Matrix[float64]{})
	})
}

func TestStringsOfOtherPoints(t *testing.T) {
	assert.Equal(t, "Pullback{K: Angular{}, A: 3×4}", affine(kernels.Angular{}).String())
	assert.Equal(t, "Homogeneous{K: Angular{}}", kernels.Homogeneous{K: kernels.Angular{}}.String())
	assert.Equal(t, "Convolution{K: Angular{}, 4×5×2, Size: 2, Stride: 1, Padding: 1, Pool: 2}", kernels.Convolution{K: kernels.Angular{}, Patches: small()}.String())
}

// check reports what is wrong with p.
func check(p kernels.Patches) error {
	return kernels.Check(kernels.Convolution{K: kernels.DotProduct{}, Patches: p})
}

// TestCells: images that differ in one patch of a bag, and in one pixel, tell by the kernel which
// patches share a cell.
func TestCells(t *testing.T) {
	for _, p := range []kernels.Patches{
		{Height: 4, Width: 5, Size: 1, Pool: 2}, {Height: 3, Width: 3, Size: 1}, {Height: 5, Width: 1, Size: 1, Pool: 3}, {Height: 2, Width: 2, Size: 1, Pool: math.MaxInt},
	} {
		k := kernels.Convolution{K: kernels.DotProduct{}, Patches: p}
		rows, cols := p.Grid()
		down, across := p.Cells()
		pool := p.Pool
		if pool == 0 {
			pool = math.MaxInt
		}
		seen := map[[2]int]bool{}
		for u := range rows * cols {
			seen[[2]int{u / cols / pool, u % cols / pool}] = true
			for v := range rows * cols {
				x, y := make([]float64, rows*cols), make([]float64, rows*cols)
				x[u], y[v] = 1, 1
				shared := u/cols/pool == v/cols/pool && u%cols/pool == v%cols/pool
				assert.Equal(t, shared, k.Eval(x, y) > 0, "%+v: patches %d and %d", p, u, v)
			}
		}
		assert.Len(t, seen, down*across, "%+v", p)
	}
}

func testPatches[T dense.Float](t *testing.T) {
	for _, p := range []kernels.Patches{small(), {Height: 3, Width: 3, Size: 3}, {Height: 6, Width: 4, Channels: 3, Size: 4, Stride: 2, Padding: 2, Pool: 3}, {Height: 1, Width: 7, Size: 3, Padding: 1, Stride: 2}} {
		require.NoError(t, check(p))
		channels, stride := max(p.Channels, 1), max(p.Stride, 1)
		image, patch := p.Dims()
		x := cloud[T](5, 2, image, 1, 1)
		got := kernels.CutPatches(dense.Matrix[T]{}, p, x, 0)
		rows, cols := p.Grid()
		require.Equal(t, [2]int{2 * rows * cols, patch}, [2]int{got.Rows, got.Cols})
		pixel := func(of, i, j, ch int) T {
			if i < 0 || j < 0 || i >= p.Height || j >= p.Width {
				return 0
			}
			return x.At(of, (i*p.Width+j)*channels+ch)
		}
		for at := range got.Rows {
			of, r, c := at/(rows*cols), at%(rows*cols)/cols, at%cols
			for e, v := range got.Row(at) {
				i, j, ch := e/channels/p.Size, e/channels%p.Size, e%channels
				assert.Equal(t, pixel(of, r*stride-p.Padding+i, c*stride-p.Padding+j, ch), v, "%+v patch (%d, %d) pixel (%d, %d, %d)", p, r, c, i, j, ch)
			}
		}
		for first := range got.Rows + 1 {
			assert.Equal(t, got.RowRange(first, got.Rows).Clone(), kernels.CutPatches(dense.Matrix[T]{}, p, x, first))
		}
		one := dense.New[T](1, patch)
		assert.Equal(t, got.RowRange(1, 2).Clone(), kernels.CutPatches(one, p, x, 1))
	}
	p := small()
	rows, cols := p.Grid()
	_, patch := p.Dims()
	assert.Panics(t, func() { kernels.CutPatches(dense.New[T](1, 7), p, dense.New[T](1, 40), 0) }, "patches of another length")
	assert.PanicsWithValue(t, "kernels: x is 2×39, want 2×40", func() { kernels.CutPatches(dense.Matrix[T]{}, p, dense.New[T](2, 39), 0) })
	for _, c := range [][2]int{{-1, 1}, {2*rows*cols + 1, 0}, {2 * rows * cols, 1}, {2*rows*cols - 1, 2}, {math.MaxInt, 0}, {math.MinInt, 1}} {
		first, n := c[0], c[1]
		dst := dense.Of(n, patch, slices.Repeat([]T{7}, n*patch))
		want := fmt.Sprintf("kernels: %d patches from number %d on, of 2×%d×%d patches", n, first, rows, cols)
		assert.PanicsWithValue(t, want, func() { kernels.CutPatches(dst, p, dense.New[T](2, 40), first) })
		assert.Equal(t, slices.Repeat([]T{7}, n*patch), dst.Data[:n*patch], "nothing is written")
	}
	p.Pool = math.MaxInt
	down, across := p.Cells()
	assert.Equal(t, [2]int{1, 1}, [2]int{down, across}, "one cell of all patches")
}

func TestPatchesSizes(t *testing.T) {
	const most = math.MaxInt/2 + 1
	for want, p := range map[string]kernels.Patches{
		fmt.Sprintf("kernels: Patches.Height = %d, Width = 1, Channels = 1: ", most):        {Height: most, Width: 1, Size: 1},
		"kernels: Patches.Height = 1073741824, Width = 1073741824, Channels = 4: ":          {Height: 1 << 30, Width: 1 << 30, Channels: 4, Size: 3},
		fmt.Sprintf("kernels: Patches.Height = 1, Width = 1, Channels = %d: ", math.MaxInt): {Height: 1, Width: 1, Channels: math.MaxInt, Size: 1},
		fmt.Sprintf("kernels: Patches.Size = %d, Channels = 1: ", most):                     {Height: 1, Width: 1, Size: most, Padding: most - 1},
		"kernels: Patches.Size = 4194304, Channels = 1024: ":                                {Height: 1, Width: 1, Channels: 1024, Size: 1 << 22, Padding: 1<<22 - 1},
	} {
		err := check(p)
		require.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, " of memory, want at most ")
		assert.PanicsWithValue(t, err.Error(), func() { kernels.CutPatches(dense.Matrix[float32]{}, p, dense.New[float32](0, 1), 0) })
	}
	assert.NoError(t, check(kernels.Patches{Height: 1 << 10, Width: 1 << 10, Channels: 3, Size: 7, Padding: 3}))
	if math.MaxInt > math.MaxInt32 {
		// An image of 2 GiB and a patch of 1 GiB, at 2⁴³ places.
		p := kernels.Patches{Height: 1 << 29, Width: 1, Size: 1 << 14, Padding: 1<<14 - 1}
		assert.ErrorContains(t, check(p), "kernels: 536887295×16384 patches: 64 TiB of memory, want at most ")
	}
}

func TestPatches(t *testing.T) {
	densetest.Both(t, testPatches[float32], testPatches[float64])
}
