package ridge

import (
	"fmt"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge/internal/platt"
)

// Classifier computes the probabilities of classes c from features φ(x) of mean φ̄:
//
//	P(c|x) = exp(z_c) / Σ_l exp(z_l),  z_c = b_c + (φ(x) − φ̄)ᵀw_c.
//
// A Classifier never changes, and goroutines may share a Classifier.
type Classifier[T dense.Float] struct {
	phi     rff.Map[T]
	mean    []T             // φ̄
	weights dense.Matrix[T] // a column for each class
	offset  []T             // z at the mean
	labels  []string        // nil, or a text for each class
	exact   *exact[T]       // or nil
}

// Labels returns the texts of the classes from ClassifyOptions.Labels, or nil.
func (c *Classifier[T]) Labels() []string { return slices.Clone(c.labels) }

// Map returns the feature map of the classifier.
func (c *Classifier[T]) Map() rff.Map[T] { return c.phi }

// For each row x of the argument x, Probabilities writes the probabilities P(c|x) of all classes c
// into a row of dst, and returns dst; a zero dst is allocated. The argument dst must not overlap x,
// and Probabilities panics for shapes that do not fit. For n rows and D features, Probabilities
// takes n transforms by the map and n·D multiply-adds in T per class.
func (c *Classifier[T]) Probabilities(dst, x dense.Matrix[T]) dense.Matrix[T] {
	if c.phi == nil {
		panic(errNoClassifier.Error())
	}
	x.Check()
	if d, _ := c.phi.Dims(); x.Cols != d {
		panic(fmt.Sprintf("ridge: x is %d×%d, want %d×%d", x.Rows, x.Cols, x.Rows, d))
	}
	dst = dense.Ensure(dst, x.Rows, len(c.offset))
	if c.exact != nil {
		z := c.exact.at(x, dense.Copy(dense.Matrix[float64]{}, dense.Of(1, len(c.offset), c.offset)).Data)
		for i := range z.Rows {
			platt.Softmax(z.Row(i))
		}
		return dense.Copy(dst, z)
	}
	parallel.Do((x.Rows+predictRows-1)/predictRows, &classification[T]{c, dst, x})
	return dst
}

type classification[T dense.Float] struct {
	*Classifier[T]
	dst, x dense.Matrix[T]
}

var classifySpaces pool.Pair[scratch.Buffer[float32], scratch.Buffer[float64]]

func (c *classification[T]) Piece(piece int) {
	lo := piece * predictRows
	hi := min(lo+predictRows, c.x.Rows)
	s := pool.Get[scratch.Buffer[T]](&classifySpaces)
	s.Shape(hi-lo, c.weights.Rows)
	dst := c.dst.RowRange(lo, hi)
	phi := c.phi.Transform(s.Rows(hi-lo), c.x.RowRange(lo, hi))
	for i := range phi.Rows {
		vecmath.AddScaled(phi.Row(i), c.mean, -1)
	}
	matmul.Mul(1, phi, c.weights, 0, dst)
	pool.Put(&classifySpaces, s)
	for i := range dst.Rows {
		row := dst.Row(i)
		for j := range row {
			row[j] += c.offset[j]
		}
		platt.Softmax(row)
	}
}

func class[T dense.Float](v T, classes int) (int, error) {
	if !(v >= 0 && v < T(classes)) || v != T(int(v)) {
		return 0, fmt.Errorf("ridge: the target %v is no class, want a whole number from 0 to %d", v, classes-1)
	}
	return int(v), nil
}
