package orf

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
)

// What tests see of the inside.
var (
	Gaussian      = gaussian
	Lengths       = lengths
	Orthogonalise = orthogonalise
	Primitives    = primitives
)

// MaxHalton is the largest dimension of Halton.
const MaxHalton = maxHalton

// Block is a block of a structured projection: which rows of its operator are in use, and their
// lengths. Both are the memory of the projection.
type Block[T dense.Float] struct {
	Rows    []int32
	Lengths []T

	// H·G·Π·Rotation, with Π from From, of Fastfood; nil of others.
	Rotation *hadamard.Rotation[T]
	From     []int32
	Scale    []T
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
		if f, ok := b.r.(*transforms[T]); ok {
			blocks[i].Rotation, blocks[i].From, blocks[i].Scale = f.r, f.from, f.scale
		}
	}
	return blocks
}
