package fwht

import (
	"runtime"

	"github.com/seed-feabd252/randfeat/internal/parallel"
	"github.com/seed-feabd252/randfeat/internal/pool"
)

// Large is the least number of elements of a vector that is worth several
// goroutines.
const Large = 1 << 17

const (
	// parts is the number of parts that a large vector is cut into; the stages
	// across them are two passes.
	parts = 1 << (2 * outer)
	// rangeBytes is the width of a range of columns of very large vectors: parts
	// times as much stays in the second cache between the two passes.
	rangeBytes = 1 << 12
	// minRanges is the least number of column ranges.
	minRanges = 16
)

// TransformLarge is Transform on several goroutines if x has Large elements or more,
// with the same bits.
func TransformLarge[T Float](x []T) {
	if len(x) < Large || runtime.GOMAXPROCS(0) == 1 {
		Transform(x)
		return
	}
	v := pool.Get[vector[T]](&vectors)
	part := len(x) / parts
	*v = vector[T]{x: x, part: part, columns: min(part/minRanges, rangeBytes/size[T]())}
	parallel.Do(parts, (*within[T])(v))
	parallel.Do(part/v.columns, (*across[T])(v))
	*v = vector[T]{}
	pool.Put(&vectors, v)
}

// vector is a large vector, as parts, and how many columns of them go together.
type vector[T Float] struct {
	x             []T
	part, columns int
}

var vectors pool.Both[vector[float32], vector[float64]]

// within is the task of transforming the parts.
type within[T Float] vector[T]

func (v *within[T]) Piece(i int) { Transform(v.x[i*v.part:][:v.part]) }

// across is the task of running the stages across the parts, a range of columns
// a piece.
type across[T Float] vector[T]

func (v *across[T]) Piece(i int) {
	x := v.x[i*v.columns:]
	if k := best[T](); k != nil {
		k.columnStages(x, v.part, v.columns)
	} else {
		columnStages(x, v.part, v.columns)
	}
}

// columnStages runs the stages part, 2·part, … part·parts/2 on the first columns
// of parts parts; the last part may end with its columns.
func (k *kernels[T]) columnStages(x []T, part, columns int) {
	k.pass[outer](&x[0], part, columns, 1<<outer)
	for row := range 1 << outer {
		k.pass[outer](&x[row*part], part<<outer, columns, 1)
	}
}

// columnStages is the method of the same name where there are no kernels.
func columnStages[T Float](x []T, part, columns int) {
	row := func(i int) []T { return x[i*part:][:columns] }
	for h := 1; h < parts; h *= 4 {
		for base := 0; base < parts; base += 4 * h {
			for i := base; i < base+h; i++ {
				twoStages(row(i), row(i+h), row(i+2*h), row(i+3*h))
			}
		}
	}
}
