//go:build (amd64 || arm64) && !purego && !noasm

package matmul

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

var best32, best64 = of32(simd.Best), of64(simd.Best)

type (
	packer[T Float]     = func(k int, to, from *T, stride, lanes int)
	transposer[T Float] = func(count int, dst *T, next int, b *T, stride int)
)

// kernelsOf wraps assembly, which counts in bytes: strips[rows−1] for one and two
// vectors.
func kernelsOf[T Float](lanes int, strips [][2]strip[T], packs, unpacks [2]packer[T], transpose transposer[T]) *kernels[T] {
	bytes := size[T]()
	return &kernels[T]{
		lanes:  lanes,
		strips: strips,
		invert: invert[T],
		packRows: func(n, vectors int, dst, b []T, stride, lanes int) {
			packs[vectors-1](n, &dst[0], &b[0], stride*bytes, lanes)
		},
		unpackRows: func(n, vectors int, b, src []T, stride, lanes int) {
			unpacks[vectors-1](n, &b[0], &src[0], stride*bytes, lanes)
		},
		packSquares: func(count int, dst []T, next int, b []T, stride int) {
			transpose(count, &dst[0], next*bytes, &b[0], stride*bytes)
		},
	}
}
