package ridge

import (
	"context"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

const (
	// blockRows is the number of rows whose features are formed together. With one row for the rows
	// before, a matrix product sums as many at a time.
	blockRows = 255
	// partRows is the number of rows of a part. The rounding of sums depends on it, which therefore
	// follows no machine.
	partRows = 16 * blockRows
)

// adder adds rows to moments. Its memory serves later calls.
type adder struct {
	block blockSpace
	spare []*part
}

// part is the moments of partRows rows of one call of Add.
type part struct {
	moments
	space blockSpace
}

// add adds the rows to m. After the end of ctx, whose error add returns, some of the rows are added.
func (a *adder) add(ctx context.Context, m *moments, r features.Centring) error {
	if r.Len() <= partRows {
		return a.block.addRows(ctx, m, r, 0, r.Len())
	}
	for lo := 0; lo < r.Len(); {
		count := together(m, r.Len()-lo)
		for len(a.spare) < count {
			a.spare = append(a.spare, &part{moments: newMoments(len(m.mean), len(m.targets))})
		}
		parallel.Pieces(count, func(i int) {
			p := a.spare[i]
			p.clear()
			first := lo + i*partRows
			// The end of ctx is looked at below.
			_ = p.space.addRows(ctx, &p.moments, r, first, min(first+partRows, r.Len()))
		})
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, p := range a.spare[:count] {
			m.combine(1, &p.moments)
		}
		lo += count * partRows
	}
	return nil
}

// together returns the number of parts that are summed at the same time, each on a goroutine of its
// own. With few rows or large triangles it is one, whose products are shared among goroutines; the
// sums are the same.
func together(m *moments, n int) int {
	const bytes = 1 << 26 // of triangles
	count := min(parallel.Idle()+1, bytes/(8*len(m.square.data)))
	if n < count*partRows {
		return 1
	}
	return max(1, count)
}

// blockSpace is memory for a block of rows.
type blockSpace struct {
	rows, targets scratch.Buffer[float64] // roots of weights times features and targets about their means
	products      dense.Matrix[float64]
	weights       []float64
	means, rise   []float64
}

// addRows adds the rows lo ≤ i < hi to m, up to the end of ctx.
func (s *blockSpace) addRows(ctx context.Context, m *moments, r features.Centring, lo, hi int) error {
	for ; lo < hi; lo += blockRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.add(m, r, lo, min(lo+blockRows, hi))
	}
	return nil
}

// add adds few rows. The rows about their mean and one row more, for the distance of that mean from
// the mean of the rows before, have the products that moments add.
func (s *blockSpace) add(m *moments, r features.Centring, lo, hi int) {
	n, width, outputs := hi-lo, len(m.mean), len(m.targets)
	s.weights = scratch.Resize(s.weights, n)
	weight, first := 0.0, -1
	for i := range s.weights {
		w := r.Weight(lo + i)
		s.weights[i] = w
		if w > 0 {
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
	s.rows.Shape(n+1, width)
	s.targets.Shape(n+1, outputs)
	s.products = resize(s.products, outputs, width)
	s.means, s.rise = scratch.Resize(s.means, width), scratch.Resize(s.rise, outputs)
	rows, targets := s.rows.Rows(n+1), s.targets.Rows(n+1)
	last := weight * (m.weight / (m.weight + weight)) // of the row for the rows before
	share := weight / (m.weight + weight)
	c := features.Centred{Weights: s.weights, First: first, Total: weight, Root: math.Sqrt(last)}
	c.Dst, c.Means, c.Before = rows, s.means, m.mean
	r.Features(&c, lo)
	c.Dst, c.Means, c.Before = targets, s.rise, m.targets
	r.Targets(&c, lo)
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

// advance moves the means towards others by a share of the way.
func advance(means, others []float64, share float64) {
	for i, v := range others {
		means[i] += share * (v - means[i])
	}
}
