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
	// A matrix product sums 256 rows at a time, and one row stands for the earlier rows.
	blockRows = 255
	// partRows does not depend on the machine, because the rounding of sums depends on it.
	partRows = 16 * blockRows
)

type adder struct {
	block blockSpace
	spare []*partialMoments
}

type partialMoments struct {
	moments
	space blockSpace
}

// add adds the rows of r to m. If ctx ends, m may contain some of the rows.
func (a *adder) add(ctx context.Context, m *moments, r features.Centring) error {
	if r.Len() <= partRows {
		return a.block.addRows(ctx, m, r, 0, r.Len())
	}
	for lo := 0; lo < r.Len(); {
		count := together(m, r.Len()-lo)
		for len(a.spare) < count {
			p := &partialMoments{moments: m.like()}
			if m.single != nil {
				p.single = newProbes(len(m.mean), 1)
			}
			a.spare = append(a.spare, p)
		}
		parallel.Pieces(count, func(i int) {
			p := a.spare[i]
			p.clear()
			first := lo + i*partRows
			_ = p.space.addRows(ctx, &p.moments, r, first, min(first+partRows, r.Len()))
		})
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, p := range a.spare[:count] {
			m.combine(&p.moments)
		}
		lo += count * partRows
	}
	return nil
}

// For few rows or large triangles, goroutines share the products of one part; the sums are equal.
func together(m *moments, n int) int {
	const bytes = 1 << 26 // of triangles or features
	count := min(parallel.Idle()+1, bytes/(8*max(len(m.square.data), blockRows*len(m.mean))))
	if n < count*partRows {
		return 1
	}
	return max(1, count)
}

type blockSpace struct {
	rows, targets scratch.Buffer[float64] // features and targets minus their means, times √ω
	products      dense.Matrix[float64]
	weights       []float64
	means, rise   []float64
	single        singleSpace
}

func (s *blockSpace) addRows(ctx context.Context, m *moments, r features.Centring, lo, hi int) error {
	for ; lo < hi && ctx.Err() == nil; lo += blockRows {
		s.add(m, r, lo, min(lo+blockRows, hi))
	}
	if m.single != nil {
		s.single.flush(m)
	}
	return ctx.Err()
}

// The centred rows and one more row, for the distance between the mean of the block and the mean of
// the earlier rows, have the products that m needs.
func (s *blockSpace) add(m *moments, r features.Centring, lo, hi int) {
	n, width, outputs := hi-lo, len(m.mean), len(m.targets)
	s.weights = scratch.Resize(s.weights, n)
	weight, first := 0.0, -1
	for i := range s.weights {
		w := r.Weight(lo + i)
		s.weights[i] = w
		if w > 0 {
			m.n++
			m.rows++
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
	last := weight * (m.weight / (m.weight + weight)) // weight of the row for the earlier rows
	share := weight / (m.weight + weight)
	c := features.Centred{Weights: s.weights, First: first, Total: weight, Root: math.Sqrt(last)}
	c.Dst, c.Means, c.Before = rows, s.means, m.mean
	r.Features(&c, lo)
	c.Dst, c.Means, c.Before = targets, s.rise, m.targets
	r.Targets(&c, lo)
	m.weight += weight
	advance(m.mean, s.means, share)
	advance(m.targets, s.rise, share)

	switch {
	case m.single != nil:
		s.single.add(m.single, rows)
	case m.square.n > 0:
		m.square.addSquare(rows)
	}
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

func advance(means, others []float64, share float64) {
	for i, v := range others {
		means[i] += share * (v - means[i])
	}
}
