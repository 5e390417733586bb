//go:build !purego && !noasm

package scan

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

// tier is the one that runs; counts tells whether its AVX-512 kernel may count bits with VPOPCNTQ.
var (
	tier   = simd.Best
	counts = simd.VPOPCNTDQ
)

func signs(dst []float32, rows, planes []uint64, words int) {
	switch {
	case tier == simd.AVX512 && counts:
		signsAVX512(&dst[0], &rows[0], &planes[0], len(dst), words)
	case tier >= simd.AVX2:
		signsAVX2(&dst[0], &rows[0], &planes[0], len(dst), words)
	default:
		signsReference(dst, rows, planes, words)
	}
}

func levels(dst []float32, rows []uint64, table, query []float32, words, width int) {
	d, r, t, q, n := &dst[0], &rows[0], &table[0], &query[0], len(dst)
	switch tier {
	case simd.AVX512:
		switch width {
		case 1:
			levels1AVX512(d, r, t, q, n, words)
		case 2:
			levels2AVX512(d, r, t, q, n, words)
		case 4:
			levels4AVX512(d, r, t, q, n, words)
		default:
			levels8AVX512(d, r, t, q, n, words)
		}
	case simd.AVX2:
		switch width {
		case 1:
			levels1AVX2(d, r, t, q, n, words)
		case 2:
			levels2AVX2(d, r, t, q, n, words)
		case 4:
			levels4AVX2(d, r, t, q, n, words)
		default:
			levels8AVX2(d, r, t, q, n, words)
		}
	default:
		levelsReference(dst, rows, table, query, words, width)
	}
}
