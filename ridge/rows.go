package ridge

import (
	"cmp"
	"context"
	"fmt"
	"iter"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/rff"
)

// Rows are data that can be read several times, a block at a time, so that the data need not fit
// into memory: Block, NPY and CSV implement Rows.
type Rows[T dense.Float] interface {
	// Every call of Blocks yields all rows again, in equal blocks and order, up to the first error.
	// A block from Blocks is valid until the next block is read.
	Blocks() iter.Seq2[Block[T], error]
}

// Block holds rows in memory: row i has the point X.Row(i), the targets Y.Row(i), and the weight
// Weights[i]. A zero Matrix Y stands for no targets, and nil Weights for weights of 1. The matrices
// of a Block may be views of a *mat.Dense: see package dense/gonum.
type Block[T dense.Float] struct {
	X, Y    dense.Matrix[T]
	Weights []T
}

const blockSize = 2 * partRows

// Blocks yields the rows of b in blocks of 8160 rows, which share the memory of b.
func (b Block[T]) Blocks() iter.Seq2[Block[T], error] {
	return func(yield func(Block[T], error) bool) {
		b := b.complete()
		if b.Y.Rows != b.X.Rows || b.Weights != nil && len(b.Weights) != b.X.Rows {
			yield(Block[T]{}, fmt.Errorf("ridge: X has %d rows, Y %d and Weights %d", b.X.Rows, b.Y.Rows, len(b.Weights)))
			return
		}
		for lo := 0; lo < b.X.Rows; lo += blockSize {
			if !yield(b.RowRange(lo, min(lo+blockSize, b.X.Rows)), nil) {
				return
			}
		}
	}
}

// Check returns an error unless X has d columns, Y has as many columns as the number outputs says,
// X, Y and any Weights have equally many rows, all numbers are finite, and no weight is negative.
// An error of Check for a wrong number names the row.
func (b Block[T]) Check(d, outputs int) error {
	b = b.complete()
	return checkRows(b.X, b.Y, b.Weights, d, outputs)
}

func (b Block[T]) complete() Block[T] {
	if b.Y.Rows == 0 && b.Y.Cols == 0 {
		b.Y.Rows = b.X.Rows
	}
	return b
}

// RowRange returns the rows i of b with lo ≤ i < hi, in the memory of b.
func (b Block[T]) RowRange(lo, hi int) Block[T] {
	part := Block[T]{X: b.X.RowRange(lo, hi), Y: b.Y.RowRange(lo, hi)}
	if b.Weights != nil {
		part.Weights = b.Weights[lo:hi]
	}
	return part
}

// Weight returns the weight of row i, which is 1 if Weights is nil.
func (b Block[T]) Weight(i int) float64 {
	if b.Weights == nil {
		return 1
	}
	return float64(b.Weights[i])
}

// Sum reads the rows once and returns the Sums of all rows with the features of phi. Sum returns
// the errors of NewSums, of Sums.Add and of reading rows, and an error for no rows.
func Sum[T dense.Float](ctx context.Context, phi rff.Map[T], rows Rows[T]) (*Sums[T], error) {
	return sum(ctx, rows, func(outputs int) (*Sums[T], error) { return NewSums(phi, outputs) })
}

func sum[T dense.Float](ctx context.Context, rows Rows[T], empty func(outputs int) (*Sums[T], error)) (s *Sums[T], err error) {
	if err := argument.Context("ridge", ctx); err != nil {
		return nil, err
	}
	err = each(ctx, rows, func(b Block[T]) (err error) {
		if s == nil {
			if s, err = empty(b.Y.Cols); err != nil {
				return err
			}
		}
		return s.add(ctx, b)
	})
	if err == nil && s == nil {
		err = errNoRows
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// Errors of f count rows from the first row of a block.
func each[T dense.Float](ctx context.Context, rows Rows[T], f func(b Block[T]) error) error {
	if rows == nil {
		return errNoData
	}
	at := 0
	for b, err := range rows.Blocks() {
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		if err := f(b.complete()); err != nil {
			if at > 0 && ctx.Err() == nil {
				err = fmt.Errorf("%w (in the block that begins with row %d)", err, at)
			}
			return err
		}
		at += b.X.Rows
	}
	return ctx.Err()
}
