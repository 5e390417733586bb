package ridge

import (
	"context"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/rff"
)

const (
	// blockRows is the number of rows whose features are formed together. With one row for the rows
	// before, a matrix product sums as many at a time.
	blockRows = 255
	// partRows is the number of rows of a part. The rounding of sums depends on it, which therefore
	// follows no machine.
	partRows = 16 * blockRows
)

// part is the moments of some rows of one call of Add.
type part[T dense.Float] struct {
	moments
	space blockSpace[T]
}

// blockSpace is memory for a block of rows.
type blockSpace[T dense.Float] struct {
	phi           scratch.Buffer[T]
	rows, targets scratch.Buffer[float64] // roots of weights times features and targets about their means
	products      dense.Matrix[float64]
	means, rise   []float64
}

// addRows adds the rows to m, up to the end of ctx.
func addRows[T dense.Float](ctx context.Context, m *moments, s *blockSpace[T], phi rff.Map[T], rows Block[T]) error {
	for lo := 0; lo < rows.X.Rows; lo += blockRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.add(m, phi, rows.slice(lo, min(lo+blockRows, rows.X.Rows)))
	}
	return nil
}

// add adds few rows. The rows about their mean and one row more, for the distance of that mean from
// the mean of the rows before, have the products that moments add.
func (s *blockSpace[T]) add(m *moments, phi rff.Map[T], b Block[T]) {
	n, width, outputs := b.X.Rows, len(m.mean), len(m.targets)
	weights := make([]float64, n)
	weight, first := 0.0, -1
	for i := range weights {
		weights[i] = b.weight(i)
		if w := weights[i]; w > 0 {
			m.n++
			m.logWeight += math.Log(w)
			weight += w
			if first < 0 {
				first = i
			}
		}
	}
	if first < 0 {
		return
	}
	s.phi.Shape(n, width)
	s.rows.Shape(n+1, width)
	s.targets.Shape(n+1, outputs)
	s.products = resize(s.products, outputs, width)
	s.means, s.rise = scratch.Resize(s.means, width), scratch.Resize(s.rise, outputs)
	features, rows, targets := phi.Transform(s.phi.Rows(n), b.X), s.rows.Rows(n+1), s.targets.Rows(n+1)
	last := weight * (m.weight / (m.weight + weight)) // of the row for the rows before
	share := weight / (m.weight + weight)
	centre(rows, features, weights, s.means, first, weight, math.Sqrt(last), m.mean)
	centre(targets, b.Y, weights, s.rise, first, weight, math.Sqrt(last), m.targets)
	m.weight += weight
	advance(m.mean, s.means, share)
	advance(m.targets, s.rise, share)

	m.square.addSquare(rows)
	matmul.TMul(1, targets, rows, 0, s.products)
	for j := range outputs {
		for f, v := range s.products.Row(j) {
			m.cross.Data[f*m.cross.Stride+j] += v
		}
	}
	for i := range targets.Rows {
		for j, v := range targets.Row(i) {
			m.squares[j] += v * v
		}
	}
}

// centre writes the weighted mean of the rows of x into means, the rows about that mean times the
// roots of their weights into dst, and root·(means − before) into the last row of dst. first is a
// row with a weight; the mean is summed about that row, so that its size costs no digits. Rows of
// weight 0 may be infinite.
func centre[T dense.Float](dst dense.Matrix[float64], x dense.Matrix[T], weights, means []float64, first int, total, root float64, before []float64) {
	parallel.Rows(x.Cols, 512, func(lo, hi int) {
		sums, origin := means[lo:hi], x.Row(first)[lo:hi]
		clear(sums)
		for i, w := range weights {
			if w == 0 {
				continue
			}
			for j, v := range x.Row(i)[lo:hi] {
				sums[j] += w * (float64(v) - float64(origin[j]))
			}
		}
		for j, v := range origin {
			sums[j] = float64(v) + sums[j]/total
		}
		for i, w := range weights {
			to := dst.Row(i)[lo:hi]
			if w == 0 {
				clear(to)
				continue
			}
			w = math.Sqrt(w)
			for j, v := range x.Row(i)[lo:hi] {
				to[j] = w * (float64(v) - sums[j])
			}
		}
		to := dst.Row(dst.Rows - 1)[lo:hi]
		for j, v := range before[lo:hi] {
			to[j] = root * (sums[j] - v)
		}
	})
}

// advance moves the means towards others by a share of the way.
func advance(means, others []float64, share float64) {
	for i, v := range others {
		means[i] += share * (v - means[i])
	}
}
