package fwht

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

func testKernelsOfTiers[T Float](t *testing.T) {
	assert.Same(t, of[T](simd.Best), best[T](), "the kernels that run are those of the tier")
	assert.Nil(t, of[T](simd.Generic))
	found := 0
	for tier, bytes := range map[simd.Tier]int{simd.AVX2: 32, simd.AVX512: 64, simd.NEON: 16} {
		if k := of[T](tier); k != nil {
			assert.Equal(t, bytes, simd.Size[T]()<<k.log, "%v", tier)
			found++
		}
	}
	assert.Equal(t, assembled, found)
}

func TestKernelsOfTiers(t *testing.T) {
	t.Run("type=float32", testKernelsOfTiers[float32])
	t.Run("type=float64", testKernelsOfTiers[float64])
}

// everyTier runs f on the kernels of the tiers that this machine may use.
func everyTier(t *testing.T, single func(*testing.T, *kernels[float32]), double func(*testing.T, *kernels[float64])) {
	for _, tier := range simd.Tiers()[1:] {
		t.Run(fmt.Sprintf("tier=%v", tier), func(t *testing.T) {
			t.Run("type=float32", func(t *testing.T) { single(t, of[float32](tier)) })
			t.Run("type=float64", func(t *testing.T) { double(t, of[float64](tier)) })
		})
	}
}

// asOnly runs f while k are the kernels that Transform and its relatives use.
func asOnly[T Float](k *kernels[T], f func()) {
	switch k := any(k).(type) {
	case *kernels[float32]:
		defer func(old *kernels[float32]) { best32 = old }(best32)
		best32 = k
	case *kernels[float64]:
		defer func(old *kernels[float64]) { best64 = old }(best64)
		best64 = k
	}
	f()
}

// The other tests of Transform and its relatives run on the kernels of the best tier.
func transformsOf[T Float](t *testing.T, k *kernels[T]) {
	if k == best[T]() {
		return
	}
	asOnly(k, func() {
		require.Same(t, k, best[T]())
		testTransform[T](t)
		testBlocks[T](t)
		testLarge[T](t)
	})
}

//ci:slow
func TestTransformsOfEveryTier(t *testing.T) {
	everyTier(t, transformsOf[float32], transformsOf[float64])
}

func lanesOf[T Float](t *testing.T, k *kernels[T]) {
	require.Len(t, k.lanes, k.log)
	for s := 1; s < k.log; s++ {
		for count := 1; count <= 20; count++ {
			matches[T](t, count<<k.log, func(x []T) { k.lanes[s](&x[0], count) }, referenceBlocks[T](1<<s), fmt.Sprintf("lanes[%d]", s))
		}
	}
}

func TestLanes(t *testing.T) { everyTier(t, lanesOf[float32], lanesOf[float64]) }

func baseOf[T Float](t *testing.T, k *kernels[T]) {
	require.Len(t, k.stream, len(k.base))
	for r, f := range k.base {
		n := 1 << (r + k.log)
		for count := 1; count <= 9; count++ {
			matches[T](t, n*count, func(x []T) { f(&x[0], count) }, referenceBlocks[T](n), fmt.Sprintf("base[%d]", r))
			if r == 0 {
				continue
			}
			for _, ahead := range []int{0, n, n * count} {
				matches[T](t, n*count, func(x []T) { k.stream[r](&x[0], count, ahead) }, referenceBlocks[T](n),
					fmt.Sprintf("stream[%d], %d ahead", r, ahead))
			}
		}
	}
}

func TestBase(t *testing.T) { everyTier(t, baseOf[float32], baseOf[float64]) }

func signedOf[T Float](t *testing.T, k *kernels[T]) {
	for r, f := range k.signed {
		n := 1 << (r + k.log)
		for count := 1; count <= 9; count++ {
			src, signs := make([]T, n*count), make([]T, n*count)
			fill(signs, normals, 2)
			product := func(dst []T) {
				for i := range dst {
					dst[i] = src[i] * signs[i]
				}
				referenceBlocks[T](n)(dst)
			}
			matches[T](t, n*count, func(x []T) {
				copy(src, x)
				f(&x[0], &src[0], &signs[0], count)
			}, func(x []T) {
				copy(src, x)
				product(x)
			}, fmt.Sprintf("signed[%d]", r))
			matches[T](t, n*count, func(x []T) { f(&x[0], &x[0], &signs[0], count) }, func(x []T) {
				copy(src, x)
				product(x)
			}, fmt.Sprintf("signed[%d] in place", r))
		}
	}
}

func TestSigned(t *testing.T) { everyTier(t, signedOf[float32], signedOf[float64]) }

// columnsOnly runs the stages h, 2h, … 2^(r−1)·h on the first columns of blocks of
// 2^r·h elements.
func columnsOnly[T Float](x []T, r, h, columns int) {
	for s := h; s < h<<r; s *= 2 {
		for i := range x {
			if i/s%2 == 0 && i%h < columns {
				x[i], x[i+s] = x[i]+x[i+s], x[i]-x[i+s]
			}
		}
	}
}

func passOf[T Float](t *testing.T, k *kernels[T]) {
	for r := outer; r < len(k.pass); r++ {
		for _, vectors := range []int{1, 2, 3, 4, 8} {
			h := vectors << k.log
			for columns := 1 << k.log; columns <= h; columns += 1 << k.log {
				for _, count := range []int{1, 2, 3} {
					matches[T](t, (h<<r)*count,
						func(x []T) { k.pass[r](&x[0], h, columns, count) },
						func(x []T) { columnsOnly(x, r, h, columns) },
						fmt.Sprintf("pass[%d], h = %d, %d columns", r, h, columns))
				}
			}
		}
	}
}

func TestPass(t *testing.T) { everyTier(t, passOf[float32], passOf[float64]) }
