package automl

import (
	"iter"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge"
)

// memberRows reads rows with the targets and the columns of one member of a mixture. If classes is
// above 0, it has an output for each class.
type memberRows[T dense.Float] struct {
	ridge.Rows[T]
	columns, outputs int
	unit             float64 // of weights
	curves           curves  // of columns
	logs             bool    // logarithms of targets
	classes          int
	factors          []float64 // of the weights of classes, or nil
}

func (v memberRows[T]) Blocks() iter.Seq2[ridge.Block[T], error] {
	return func(yield func(ridge.Block[T], error) bool) {
		read := 0
		for b, err := range v.Rows.Blocks() {
			if err == nil {
				err = check(b, v.columns, v.outputs, v.classes, read)
			}
			if err == nil {
				read += b.X.Rows
				weights := make([]T, b.X.Rows)
				for i := range weights {
					weights[i] = T(b.Weight(i) / v.unit)
					if v.factors != nil {
						weights[i] *= T(v.factors[int(b.Y.At(i, 0))])
					}
				}
				b = indicators(b, v.classes)
				b.X, b.Weights = moved(v.curves, b.X), weights
				if v.logs {
					b.Y = logarithms(b.Y)
				}
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

func narrow[T dense.Float](b ridge.Block[float64]) ridge.Block[T] {
	part := ridge.Block[T]{X: dense.Copy(dense.Matrix[T]{}, b.X), Y: dense.Copy(dense.Matrix[T]{}, b.Y)}
	part.Weights = dense.Copy(dense.Matrix[T]{}, dense.Of(1, len(b.Weights), b.Weights)).Data
	return part
}
