//go:build !purego && !noasm

package scan

import "github.com/seed-feabd252/randfeat/internal/compute/simd"

// tier is the one that runs.
var tier = simd.Best

func signs(dst []float32, rows, planes []uint64, words int) {
	if tier != simd.NEON {
		signsReference(dst, rows, planes, words)
		return
	}
	signsNEON(&dst[0], &rows[0], &planes[0], len(dst), words)
}

func levels(dst []float32, rows []uint64, table, query []float32, words, width int) {
	if tier != simd.NEON {
		levelsReference(dst, rows, table, query, words, width)
		return
	}
	d, r, t, q, n := &dst[0], &rows[0], &table[0], &query[0], len(dst)
	switch width {
	case 1:
		levels1NEON(d, r, t, q, n, words)
	case 2:
		levels2NEON(d, r, t, q, n, words)
	case 4:
		levels4NEON(d, r, t, q, n, words)
	default:
		levels8NEON(d, r, t, q, n, words)
	}
}
