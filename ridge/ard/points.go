package ard

import (
	"context"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/door"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

type points interface {
	// look reads the rows. look returns a sample of at most the given size and all points, both
	// minus the means of the columns.
	look(ctx context.Context, most int, src rand.Source) (v *survey, sample, all points, err error)
	// fit returns the model of the points times rates. An error of the rows is fatal.
	fit(ctx context.Context, rates []float64, o ridge.Options) (m model, fatal bool, err error)
	derivatives(ctx context.Context, m model, noIntercept bool) (derivatives, error)
}

func newPoints[T dense.Float](psi rff.Map[T], rows ridge.Rows[T]) points {
	d, _ := psi.Dims()
	p, _ := door.Choose[T, points](points32, points64, pointsOf[T]{psi, rows, make([]float64, d)})
	return p
}

//go:noinline
func points32(a any) (any, error) { p := a.(pointsOf[float32]); return &p, nil }

//go:noinline
func points64(a any) (any, error) { p := a.(pointsOf[float64]); return &p, nil }

type pointsOf[T dense.Float] struct {
	psi   rff.Map[T]
	rows  ridge.Rows[T]
	means []float64 // c, of the columns
}

func (p *pointsOf[T]) about(means []float64) *pointsOf[T] {
	c := &pointsOf[T]{psi: p.psi, rows: p.rows, means: make([]float64, len(means))}
	for j, m := range means {
		c.means[j] = float64(T(m))
	}
	return c
}

func (p *pointsOf[T]) at(rates []float64) (rff.Map[T], error) {
	return rff.Compose(rff.Affine{Centre: p.means, Factors: rates}, p.psi)
}

type derivatives struct{ scales, noise, prior []float64 }

const gradientRows = 1024

func (p *pointsOf[T]) fit(ctx context.Context, rates []float64, o ridge.Options) (m model, fatal bool, err error) {
	phi, err := p.at(rates)
	if err != nil {
		return nil, false, err
	}
	sums, err := ridge.Sum(ctx, phi, p.rows)
	if err != nil {
		return nil, true, err
	}
	m, err = sums.Fit(ctx, o)
	return m, false, err
}

// derivatives reads the rows once. With the gradients g_i of Model.Gradient, the Jacobian J of ψ, Q
// = Σω·(y − f(x))² + λ‖μ‖² for each output, and n − 1 in place of n if there is an intercept,
//
//	∂L/∂log ℓ_j = −Σ_i (x_ij − c_j)/ℓ_j·(J((x_i − c)/ℓ)ᵀg_i)_j,
//	∂L/∂log s² = ½·( ‖μ‖²/s² − D + λ·tr A⁻¹ ),  ∂L/∂log σ² = ½·( Q/σ² − n ) − ∂L/∂log s².
func (p *pointsOf[T]) derivatives(ctx context.Context, fitted model, noIntercept bool) (derivatives, error) {
	m := fitted.(*ridge.Model[T])
	phi := m.Map().(rff.Differentiable[T])
	d, width := phi.Dims()
	noise, prior := m.Noise(), m.Prior()
	e := derivatives{make([]float64, d), make([]float64, len(noise)), make([]float64, len(noise))}
	count, squares := 0.0, make([]float64, len(noise))
	// The time between two checks of ctx is about the same for few features and many.
	some := max(gradientRows/8, min(gradientRows, int(0x1p30/float64(width)/float64(width))))
	w, offset := m.Weights()
	var dphi, dx dense.Matrix[T]
	for b, err := range p.rows.Blocks() {
		if err != nil {
			return e, err
		}
		for lo := 0; lo < b.X.Rows; lo += some {
			if err := ctx.Err(); err != nil {
				return e, err
			}
			part := b.RowRange(lo, min(lo+some, b.X.Rows))
			if n := part.X.Rows; dphi.Rows != n {
				dphi, dx = dense.New[T](n, width), dense.New[T](n, d)
			}
			if dphi, err = m.Gradient(dphi, part.X, part.Y, part.Weights); err != nil {
				return e, err
			}
			phi.Backward(dx, part.X, dphi)
			features := phi.Transform(dphi, part.X)
			for i := range part.X.Rows {
				weight := part.Weight(i)
				if weight == 0 {
					continue
				}
				count++
				x := part.X.Row(i)
				for j, v := range dx.Row(i) {
					e.scales[j] -= float64(v) * (float64(x[j]) - p.means[j])
				}
				// Rounding of means to T would lose the residuals of large targets.
				for j := range squares {
					r := float64(part.Y.At(i, j)) - offset[j]
					for l, v := range features.Row(i) {
						r -= float64(v) * w.At(l, j)
					}
					squares[j] += weight * r * r
				}
			}
		}
	}
	degrees := m.DegreesOfFreedom()
	if !noIntercept {
		degrees--
		count--
	}
	for j := range e.noise {
		size := 0.0
		for i := range w.Rows {
			size += w.At(i, j) * w.At(i, j) / prior[j]
		}
		e.prior[j] = 0.5 * (size - degrees)
		e.noise[j] = 0.5*(squares[j]/noise[j]+size-count) - e.prior[j]
	}
	return e, nil
}
