package hadamard

import (
	"math/bits"
	"runtime"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

const (
	// pieceWork is the number of additions that make a piece of work.
	pieceWork = 1 << 17
	// leastWork is the number of additions below which one goroutine is enough.
	leastWork = 1 << 20
)

// batch is work on the rows of a matrix that is left to several goroutines, grain
// rows a piece.
type batch[T dense.Float] struct {
	plan     plan
	rotation *Rotation[T] // of the tasks applying and transposing
	dst, src dense.Matrix[T]
	grain    int
}

// transforming is the task of transforming the rows of dst.
type transforming[T dense.Float] batch[T]

func (b *transforming[T]) Piece(i int) {
	lo, hi := (*batch[T])(b).rows(i)
	transformRows(b.plan, b.dst, lo, hi)
}

// applying is the task of rotating the rows of src into dst.
type applying[T dense.Float] batch[T]

func (b *applying[T]) Piece(i int) {
	lo, hi := (*batch[T])(b).rows(i)
	b.rotation.applyRows(b.dst, b.src, lo, hi)
}

// transposing is the task of rotating the rows of src back into dst.
type transposing[T dense.Float] batch[T]

func (b *transposing[T]) Piece(i int) {
	lo, hi := (*batch[T])(b).rows(i)
	b.rotation.transposeRows(b.dst, b.src, lo, hi)
}

// rows returns the range of rows of piece i.
func (b *batch[T]) rows(i int) (lo, hi int) {
	return i * b.grain, min((i+1)*b.grain, b.dst.Rows)
}

// run does all pieces of t, which is b as a task, and gives b back.
func (b *batch[T]) run(t parallel.Task) {
	parallel.Do((b.dst.Rows+b.grain-1)/b.grain, t)
	*b = batch[T]{}
	pool.Put(&batches, b)
}

// newBatch returns a batch in which k transforms of p are made for a row.
func newBatch[T dense.Float](p plan, k int, dst, src dense.Matrix[T]) *batch[T] {
	b := pool.Get[batch[T]](&batches)
	*b = batch[T]{plan: p, dst: dst, src: src, grain: max(1, pieceWork/p.work(k))}
	return b
}

// alone reports whether one goroutine does k transforms of p for each of the rows.
func alone(p plan, k, rows int) bool {
	return rows <= 1 || rows <= leastWork/p.work(k) || runtime.GOMAXPROCS(0) == 1
}

// work returns about how many additions k transforms take, at least 1 and at most
// a number that is beyond all thresholds.
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

var batches pool.Pair[batch[float32], batch[float64]]
