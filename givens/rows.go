package givens

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/planerot"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

func (p *Product[T]) rows(dst, x dense.Matrix[T], inverse bool) dense.Matrix[T] {
	x.Check()
	if x.Cols != p.d {
		panic(fmt.Sprintf("givens: x is %d×%d, want n×%d", x.Rows, x.Cols, p.d))
	}
	dst = dense.Ensure(dst, x.Rows, p.d)
	const rotations = 1 << 14 // enough for one goroutine
	grain := planerot.Group[T](p.d) * max(1, rotations/(p.Len()+1))
	c := pool.Get[rowsRotation[T]](&calls)
	*c = rowsRotation[T]{p: p, dst: dst, x: x, inverse: inverse, grain: grain}
	parallel.Do((x.Rows+grain-1)/grain, c)
	*c = rowsRotation[T]{}
	pool.Put(&calls, c)
	return dst
}

type rowsRotation[T dense.Float] struct {
	p       *Product[T]
	dst, x  dense.Matrix[T]
	inverse bool
	grain   int
}

func (c *rowsRotation[T]) Piece(i int) {
	lo, hi := i*c.grain, min((i+1)*c.grain, c.x.Rows)
	planerot.ApplyRows(c.dst.RowRange(lo, hi), c.x.RowRange(lo, hi), c.p.turns, c.inverse)
}

var calls pool.Pair[rowsRotation[float32], rowsRotation[float64]]
