//go:build !amd64 || purego || noasm

package cache

import "unsafe"

func l2() int { return common }

func copyLines(dst, src *byte, lines int) {
	copy(unsafe.Slice(dst, lines*line), unsafe.Slice(src, lines*line))
}
