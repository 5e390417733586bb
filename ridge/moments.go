package ridge

import (
	"context"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

// moments are the means and the centred products of rows. With the weights W and V and the
// difference δ of the means of two moments, the products about the common mean are the sum of both
// products and WV/(W + V)·δδᵀ [Chan et al. 1983]: nothing cancels for large means.
type moments struct {
	n         int
	rows      float64               // number of rows that the n rows stand for: see Sums.Scale
	weight    float64               // W = Σω
	logWeight float64               // Σ log ω
	mean      []float64             // φ̄ = Σωφ/W
	targets   []float64             // ȳ = Σωy/W
	squares   []float64             // Σω(y − ȳ)²
	cross     dense.Matrix[float64] // Σω(φ − φ̄)(y − ȳ)ᵀ
	square    triangle[float64]     // Σω(φ − φ̄)(φ − φ̄)ᵀ; zero for sums without it
	single    *probes               // of products in float32, or nil for products in float64
}

func newMoments(width, outputs int) moments {
	return moments{
		mean: make([]float64, width), targets: make([]float64, outputs), squares: make([]float64, outputs),
		cross: dense.New[float64](width, outputs),
	}
}

func (m *moments) like() moments {
	o := newMoments(len(m.mean), len(m.targets))
	if m.square.n > 0 {
		o.square = newTriangle[float64](m.square.n)
	}
	return o
}

func (m *moments) clear() {
	m.n, m.rows, m.weight, m.logWeight = 0, 0, 0, 0
	for _, part := range [...][]float64{m.mean, m.targets, m.squares, m.cross.Data, m.square.data} {
		clear(part)
	}
	if m.single != nil {
		clear(m.single.images.Data)
	}
}

func (m *moments) merge(o *moments) error {
	if err := limit.CheckMerge(m.n, o.n); err != nil {
		return wrap(err)
	}
	m.combine(o)
	return nil
}

// scale multiplies the number of rows that each row stands for by factor.
func (m *moments) scale(factor float64) {
	m.rows, m.weight, m.logWeight = factor*m.rows, factor*m.weight, factor*m.logWeight
	for _, part := range [...][]float64{m.squares, m.cross.Data, m.square.data} {
		floats.Scale(factor, part)
	}
}

func (m *moments) combine(o *moments) {
	if o.n == 0 {
		return
	}
	total := m.weight + o.weight
	factor, share := o.weight*(m.weight/total), o.weight/total
	shift := floats.SubTo(make([]float64, len(m.mean)), o.mean, m.mean)
	rise := floats.SubTo(make([]float64, len(m.targets)), o.targets, m.targets)
	m.n, m.rows, m.weight, m.logWeight = m.n+o.n, m.rows+o.rows, total, m.logWeight+o.logWeight
	for j, d := range rise {
		m.squares[j] += o.squares[j] + factor*d*d
		m.targets[j] += share * d
	}
	for i, d := range shift {
		m.mean[i] += share * d
		row := m.cross.Row(i)
		for j, v := range o.cross.Row(i) {
			row[j] += v + factor*d*rise[j]
		}
	}
	if m.single != nil {
		m.single.combine(o.single, factor, shift)
	}
	parallel.Rows(m.square.n, 1+(1<<15)/len(shift), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			to, f := m.square.row(i), factor*shift[i]
			for l, v := range o.square.row(i) {
				to[l] += v + f*shift[l]
			}
		}
	})
}

// about returns Σωy² and Σωφyᵀ about the means if centred is true, and about zero otherwise.
func (m *moments) about(centred bool) (squares []float64, cross dense.Matrix[float64]) {
	squares, cross = slices.Clone(m.squares), m.cross.Clone()
	if centred {
		return squares, cross
	}
	for j, y := range m.targets {
		squares[j] += m.weight * y * y
		for i, f := range m.mean {
			cross.Row(i)[j] += m.weight * f * y
		}
	}
	return squares, cross
}

// products returns the upper triangle of Σωφφᵀ, about the means if centred is true.
func (m *moments) products(ctx context.Context, centred bool) (dense.Matrix[float64], error) {
	weight := m.weight
	if centred {
		weight = 0
	}
	square := dense.New[float64](len(m.mean), len(m.mean))
	err := interrupt.Rows(ctx, len(m.mean), 64, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			f := m.mean[i]
			for l, v := range m.square.row(i) {
				square.Set(l, i, v+weight*f*m.mean[l])
			}
		}
	})
	return square, err
}
