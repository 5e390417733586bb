// Package planerot writes the amd64 kernels of package planerot.
package planerot

import "github.com/seed-feabd252/randfeat/internal/_asm/amd64"

type machine struct{ amd64.Machine }

// Write writes all kernels.
func Write() {
	for _, general := range amd64.Machines {
		m := machine{general}
		m.MaskTable()
		for vectors := 1; vectors <= 4; vectors++ {
			m.turn(vectors)
		}
		m.enter()
		m.leave()
	}
}
