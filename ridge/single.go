package ridge

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

// Means differ from those of products in float64 by up to ‖E‖/λ standard deviations of a target.
const singleMargin = 64.0

var errSingle = errors.New("ridge: products in float32 are not accurate enough")

// fitSingle returns nil if T is float64, if rows have weights or are few, or if λ is too small,
// which the first rows show in most cases. s has no rows.
func fitSingle[T dense.Float](ctx context.Context, s *Sums[T], b Block[T], o Options) (*Model[T], error) {
	_, single := any(s).(*Sums[float32])
	n, width := b.X.Rows, len(s.mean)
	if !single || b.Weights != nil || n < 16*partRows || n < 128*width {
		return nil, nil
	}
	if err := s.check(b.X, b.Y, nil); err != nil {
		return nil, err
	}
	for _, rows := range [...]int{partRows, n} {
		part := *s
		part.moments, part.adder = s.like(), adder{}
		part.single = newProbes(width, math.Sqrt(float64(n)/float64(rows)))
		err := part.adder.add(ctx, &part.moments, s.source.Centring(b.X.RowRange(0, rows), b.Y.RowRange(0, rows), nil))
		if err != nil {
			return nil, err
		}
		m, err := part.Fit(ctx, o)
		if err != nil {
			return nil, ctx.Err()
		}
		if rows == n {
			return m, nil
		}
	}
	return nil, nil
}

// probes measure the error E of S = Σω(φ − φ̄)(φ − φ̄)ᵀ if products are summed in float32: Ez = Sz
// − Σω(φ − φ̄)(φ − φ̄)ᵀz for random vectors z ~ N(0, I), with float64 on the right.
type probes struct {
	vectors, images dense.Matrix[float64] // z and Σω(φ − φ̄)(φ − φ̄)ᵀz in rows
	// factor from the error of these rows to the error of all rows
	growth float64
}

func newProbes(width int, growth float64) *probes {
	const count = 4
	p := &probes{dense.New[float64](count, width), dense.New[float64](count, width), growth}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range p.vectors.Data {
		p.vectors.Data[i] = rng.NormFloat64()
	}
	return p
}

func (p *probes) combine(o *probes, factor float64, shift []float64) {
	for k := range p.images.Rows {
		image := p.images.Row(k)
		floats.Add(image, o.images.Row(k))
		floats.AddScaled(image, factor*floats.Dot(shift, p.vectors.Row(k)), shift)
	}
}

// ‖Ez‖/‖z‖ is about ‖E‖_F/√D, half the norm of a symmetric matrix of independent elements.
func (p *probes) norm(s *triangle[float64]) float64 {
	worst := 0.0
	for k := range p.images.Rows {
		z := p.vectors.Row(k)
		e := floats.ScaleTo(make([]float64, len(z)), -1, p.images.Row(k))
		for i, v := range z {
			row := s.row(i)
			e[i] += floats.Dot(row, z[:i+1])
			floats.AddScaled(e[:i], v, row[:i])
		}
		worst = max(worst, floats.Norm(e, 2)/floats.Norm(z, 2))
	}
	return 2 * worst * p.growth
}

type singleSpace struct {
	rows   scratch.Buffer[float32]
	square triangle[float32] // products of the blocks since the last flush
	seen   dense.Matrix[float64]
}

func (s *singleSpace) add(p *probes, rows dense.Matrix[float64]) {
	if s.square.n == 0 {
		s.square = newTriangle[float32](rows.Cols)
	}
	s.rows.Shape(rows.Rows, rows.Cols)
	s.square.addSquare(dense.Copy(s.rows.Rows(rows.Rows), rows))
	s.seen = resize(s.seen, p.vectors.Rows, rows.Rows)
	matmul.MulT(1, p.vectors, rows, 0, s.seen)
	matmul.Mul(1, s.seen, rows, 1, p.images)
}

func (s *singleSpace) flush(m *moments) {
	for i, v := range s.square.data {
		m.square.data[i] += float64(v)
	}
	clear(s.square.data)
}
