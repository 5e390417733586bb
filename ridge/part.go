package ridge

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

const (
	// partRows is the number of rows whose products are summed in T before they join the sums of
	// float64. The rounding of sums depends on it, which therefore follows no machine.
	partRows = 1 << 12
	// blockRows is the number of rows whose features are formed together: as many as a matrix product
	// sums at a time.
	blockRows = 256
)

// part is the sums of some rows of one call of Add, with targets relative to the origin of the sums
// that they join.
type part[T dense.Float] struct {
	n                          int
	weight, logWeight          float64
	features, targets, squares []float64
	cross                      dense.Matrix[float64]
	square                     triangle[T]

	space space[T]
}

// space is memory for features of some rows, for numbers beside them, and for their products.
type space[T dense.Float] struct {
	phi, extra scratch.Buffer[T]
	sum        dense.Matrix[T]
}

// add makes p the sums of the rows, and adds their products to square.
func (p *part[T]) add(s *Sums[T], square triangle[T], x, y dense.Matrix[T], weights []T) {
	if p.features == nil {
		p.features, p.targets, p.squares = make([]float64, s.width), make([]float64, s.outputs), make([]float64, s.outputs)
		p.cross, p.space.sum = dense.New[float64](s.width, s.outputs), dense.New[T](s.outputs+1, s.width)
	}
	p.n, p.weight, p.logWeight = 0, 0, 0
	clear(p.features)
	clear(p.targets)
	clear(p.squares)
	clear(p.cross.Data)
	for lo := 0; lo < x.Rows; lo += blockRows {
		hi := min(lo+blockRows, x.Rows)
		var w []T
		if weights != nil {
			w = weights[lo:hi]
		}
		p.addBlock(s, square, x.RowRange(lo, hi), y.RowRange(lo, hi), w)
	}
}

// addBlock adds few rows. Features and targets are scaled by the roots of the weights, so that one
// square has the products of all.
func (p *part[T]) addBlock(s *Sums[T], square triangle[T], x, y dense.Matrix[T], weights []T) {
	p.space.phi.Shape(x.Rows, s.width)
	p.space.extra.Shape(x.Rows, s.outputs+1)
	phi, extra := s.phi.Transform(p.space.phi.Rows(x.Rows), x), p.space.extra.Rows(x.Rows)
	for i := range x.Rows {
		w := 1.0
		if weights != nil {
			w = float64(weights[i])
		}
		if w > 0 {
			p.n++
			p.logWeight += math.Log(w)
		}
		p.weight += w
		row, root := extra.Row(i), T(math.Sqrt(w))
		for j, v := range y.Row(i) {
			e := float64(v) - s.origin[j]
			p.targets[j] += w * e
			p.squares[j] += w * e * e
			row[j] = root * T(e)
		}
		row[s.outputs] = root
		if weights != nil {
			scaleRow(phi.Row(i), root)
		}
	}
	square.addSquare(phi)

	matmul.TMul(1, extra, phi, 0, p.space.sum)
	for j := range s.outputs {
		for f, v := range p.space.sum.Row(j) {
			p.cross.Data[f*p.cross.Stride+j] += float64(v)
		}
	}
	for f, v := range p.space.sum.Row(s.outputs) {
		p.features[f] += float64(v)
	}
}

// scaleRow multiplies the features of a row by the root of its weight. The features of a row that
// does not count may be infinite.
func scaleRow[T dense.Float](row []T, root T) {
	if root == 0 {
		clear(row)
		return
	}
	for j := range row {
		row[j] *= root
	}
}
