package hadamard

import (
	"math/bits"
	"runtime"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

const (
	pieceWork = 1 << 17
	// Below leastWork additions one goroutine is enough.
	leastWork = 1 << 20
)

type rowsTransform[T dense.Float] struct {
	plan       plan
	rotation   *Rotation[T] // nil for a Transform of the rows of dst
	transposed bool
	dst, src   dense.Matrix[T]
	grain      int // rows of one parallel task
}

func (b rowsTransform[T]) run(k int) {
	if alone(b.plan, k, b.dst.Rows) {
		b.rows(0, b.dst.Rows)
		return
	}
	shared := pool.Get[rowsTransform[T]](&batches)
	*shared = b
	shared.grain = max(1, pieceWork/b.plan.work(k))
	parallel.Do((b.dst.Rows+shared.grain-1)/shared.grain, shared)
	*shared = rowsTransform[T]{}
	pool.Put(&batches, shared)
}

func (b *rowsTransform[T]) Piece(i int) { b.rows(i*b.grain, min((i+1)*b.grain, b.dst.Rows)) }

func (b *rowsTransform[T]) rows(lo, hi int) {
	switch {
	case b.rotation == nil:
		transformRows(b.plan, b.dst, lo, hi)
	case b.transposed:
		scratch := b.rotation.vector()
		for i := lo; i < hi; i++ {
			b.rotation.transpose(b.dst.Row(i), b.src.Row(i), *scratch)
		}
		b.rotation.scratch.Put(scratch)
	default:
		for i := lo; i < hi; i++ {
			b.rotation.apply(b.dst.Row(i), b.src.Row(i))
		}
	}
}

func alone(p plan, k, rows int) bool {
	return rows <= 1 || rows <= leastWork/p.work(k) || runtime.GOMAXPROCS(0) == 1
}

func (p plan) work(k int) int {
	additions := bits.Len(uint(p.width))
	if p.core != nil {
		additions += p.rows/4 + 2
	}
	if p.order() >= leastWork || k >= leastWork {
		return leastWork
	}
	return int(min(int64(leastWork), int64(p.order())*int64(additions)*int64(k)))
}

var batches pool.Pair[rowsTransform[float32], rowsTransform[float64]]
