package ridge

import (
	"context"
	"fmt"
	"iter"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/rff"
)

// Rows are data that can be read again and again, a block of rows at a time, so that they need not
// fit into memory. A Block, NPY and CSV are Rows.
type Rows[T dense.Float] interface {
	// Blocks returns the rows from the first on. Every call reads them anew, in the same order and
	// blocks. A block is valid until the next one is asked for. The sequence ends at the first error.
	Blocks() iter.Seq2[Block[T], error]
}

// Block holds rows in memory: points X (n×d), their targets Y (n×p), none if Y is the zero Matrix,
// and their weights, all 1 if nil. The matrices may be views of a *mat.Dense: see package
// dense/gonum.
type Block[T dense.Float] struct {
	X, Y    dense.Matrix[T]
	Weights []T
}

// blockSize is the number of rows between two looks at a context.
const blockSize = 2 * partRows

// Blocks makes b Rows, of some thousand rows a block.
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

// Check returns an error unless X is n×d, Y n×p for p = outputs, Weights nil or of n elements, and all
// of them finite and weights not negative. The error names the row.
func (b Block[T]) Check(d, outputs int) error {
	b = b.complete()
	return checkRows(b.X, b.Y, b.Weights, d, outputs)
}

// complete returns b with n rows of Y, without columns if there are no targets.
func (b Block[T]) complete() Block[T] {
	if b.Y.Rows == 0 && b.Y.Cols == 0 {
		b.Y.Rows = b.X.Rows
	}
	return b
}

// RowRange returns the rows lo ≤ i < hi, which share the memory of b.
func (b Block[T]) RowRange(lo, hi int) Block[T] {
	part := Block[T]{X: b.X.RowRange(lo, hi), Y: b.Y.RowRange(lo, hi)}
	if b.Weights != nil {
		part.Weights = b.Weights[lo:hi]
	}
	return part
}

// Weight returns the weight of row i, 1 without Weights. It panics as the runtime does if Weights
// has no element i.
func (b Block[T]) Weight(i int) float64 {
	if b.Weights == nil {
		return 1
	}
	return float64(b.Weights[i])
}

// Sum returns the sums of all rows, which are read once.
//
// An error reports what NewSums and Add report, no rows, an error of rows, and the end of ctx, which is noticed
// within 255 rows. A nil ctx panics.
func Sum[T dense.Float](ctx context.Context, phi rff.Map[T], rows Rows[T]) (*Sums[T], error) {
	if err := argument.Context("ridge", ctx); err != nil {
		return nil, err
	}
	var s *Sums[T]
	err := each(ctx, rows, func(b Block[T]) (err error) {
		if s == nil {
			if s, err = NewSums(phi, b.Y.Cols); err != nil {
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

// each calls f for the blocks of rows up to the first error or the end of ctx. Errors of f count rows
// from the first of a block on, which each names.
func each[T dense.Float](ctx context.Context, rows Rows[T], f func(b Block[T]) error) error {
	if rows == nil {
		return errNoData
	}
	at := 0
	for b, err := range rows.Blocks() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if err := f(b.complete()); err != nil {
			if at > 0 {
				err = fmt.Errorf("%w (in the block that begins with row %d)", err, at)
			}
			return err
		}
		at += b.X.Rows
	}
	return ctx.Err()
}
