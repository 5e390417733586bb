//go:build (!amd64 && !arm64) || purego || noasm

package scan

// There is no tier but the reference.

func signs(dst []float32, rows, planes []uint64, words int) { signsReference(dst, rows, planes, words) }

func levels(dst []float32, rows []uint64, table, query []float32, words, width int) {
	levelsReference(dst, rows, table, query, words, width)
}
