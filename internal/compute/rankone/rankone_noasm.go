//go:build (!amd64 && !arm64) || purego || noasm

package rankone

import "github.com/seed-feabd252/randfeat/dense"

// There is no tier but the reference.

func take[T dense.Float](p *Pass[T]) { reference(p) }

// shape returns the number of elements of a vector and the largest number of vectors of a panel.
func shape[T dense.Float]() (lanes, vectors int) { return generic[T]() }
