package fwht

import (
	"runtime"

	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// Large is the smallest number of elements of a slice that several goroutines transform.
const Large = 1 << 18

const (
	// segments are those of a large vector. The stages across them take two passes.
	segments = 1 << (2 * outer)
	// pieceBytes is the width in bytes of a piece of a very large vector: a few ranges.
	pieceBytes = 1 << 12
	// minPieces is the smallest number of pieces into which columns are divided.
	minPieces = 16
)

// TransformLarge is Transform on several goroutines if x has Large elements or more, with the same
// bits.
func TransformLarge[T Float](x []T) {
	if len(x) < Large || runtime.GOMAXPROCS(0) == 1 {
		Transform(x)
		return
	}
	v := pool.Get[vector[T]](&vectors)
	segment := len(x) / segments
	*v = vector[T]{x: x, segment: segment, columns: min(segment/minPieces, pieceBytes/simd.Size[T]())}
	parallel.Do(segments, (*within[T])(v))
	parallel.Do(segment/v.columns, (*across[T])(v))
	*v = vector[T]{}
	pool.Put(&vectors, v)
}

type vector[T Float] struct {
	x                []T
	segment, columns int
}

var vectors pool.Pair[vector[float32], vector[float64]]

type within[T Float] vector[T]

func (v *within[T]) Piece(i int) {
	x := v.x[i*v.segment:][:v.segment]
	if k := best[T](); k != nil {
		k.transform(x, log2(v.segment), stagesAcross(v.x) > outer)
	} else {
		reference(x)
	}
}

type across[T Float] vector[T]

func (v *across[T]) Piece(i int) {
	x := v.x[i*v.columns:]
	if k := best[T](); k != nil {
		k.columnStages(x, v.segment, v.columns)
	} else {
		columnStages(x, v.segment, v.columns)
	}
}

func columnStages[T Float](x []T, segment, columns int) {
	row := func(i int) []T { return x[i*segment:][:columns] }
	for h := 1; h < segments; h *= 4 {
		for base := 0; base < segments; base += 4 * h {
			for i := base; i < base+h; i++ {
				twoStages(row(i), row(i+h), row(i+2*h), row(i+3*h))
			}
		}
	}
}
