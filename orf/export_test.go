package orf

import (
	"github.com/seed-feabd252/randfeat/dense"
)

// What tests see of the inside.
var (
	Gaussian = gaussian
)

// MaxHalton is the largest dimension of Halton.
const MaxHalton = maxHalton

// Block is a block of a structured projection: which rows of its operator are in use, and their
// lengths. Both are the memory of the projection.
type Block[T dense.Float] struct {
	Rows    []int32
	Lengths []T
}

// Blocks returns the blocks of p, nil if p multiplies by a matrix.
func Blocks[T dense.Float](p Projection[T]) []Block[T] {
	s, ok := p.(*structured[T])
	if !ok {
		return nil
	}
	blocks := make([]Block[T], len(s.blocks))
	for i, b := range s.blocks {
		blocks[i] = Block[T]{Rows: b.rows, Lengths: b.lengths}
	}
	return blocks
}
