// Package scan writes the arm64 kernels of package scan.
package scan

import (
	"github.com/seed-feabd252/randfeat/internal/_asm/arm64"
	"github.com/seed-feabd252/randfeat/internal/_asm/zeros"
)

// Write writes all kernels.
func Write(f *arm64.File) {
	m := machine{arm64.Machines(f)[0]}
	m.Name = "NEON"
	for _, dot := range []bool{true, false} {
		for _, width := range []int{8, 4, 2, 1} {
			m.products(width, dot)
		}
	}
	zeros.WriteScore[arm64.Vec, arm64.GP](m)
	zeros.WriteWiden[arm64.Vec, arm64.GP](m)
	m.weigh()
	for _, width := range []int{8, 4} {
		m.sums(width)
	}
}

type machine struct{ arm64.Machine }

// Prefetch leaves reading ahead to the processor, as the kernels of products do.
func (m machine) Prefetch(arm64.GP) {}
