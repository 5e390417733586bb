package performer_test

import (
	"github.com/seed-feabd252/randfeat/dense"
)

// identity returns the n×n identity matrix: with these values outputs are weights.
func identity[T dense.Float](n int) dense.Matrix[T] {
	m := dense.New[T](n, n)
	for i := range n {
		m.Data[i*n+i] = 1
	}
	return m
}
