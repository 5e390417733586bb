// Package vecmath writes the amd64 kernels of package vecmath.
package vecmath

import "github.com/seed-feabd252/randfeat/internal/_asm/amd64"

// machine is a machine with the kernels as methods. A wide one has registers for constants, any
// other takes them from memory.
type machine struct{ amd64.Machine }

// Write writes all kernels.
func Write() {
	for _, general := range amd64.Machines {
		m := machine{general}
		m.exponentials()
		m.cos()
		m.sincos()
		m.log1p(false)
		m.log1p(true)
		m.simple()
		m.peak()
		m.peakSum()
		m.sumOfSquares()
		m.dot()
		m.outer()
		m.rows()
		m.pick()
		m.clusters()
	}
}
