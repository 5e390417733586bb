package ridge

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/conjugate"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/door"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/rff"
)

// passes is the matrix S = Σω(φ − φ̄)(φ − φ̄)ᵀ of rows, which is never formed.
type passes interface {
	conjugate.Operator

	// pass reads the rows once, and writes S·V into the first columns of sum, and Φᵀ·U into the
	// others, where fill writes U for blocks of rows and Φ has the features minus the mean.
	// Products of a wide pass are those of float64, and products of other passes are those of T.
	pass(ctx context.Context, sum, v dense.Matrix[float64], wide bool, fill func(u, phi dense.Matrix[float64], weights []float64)) error

	unit() float64
}

func newPasses[T dense.Float](phi rff.Map[T], rows Rows[T], m *moments, centred bool) passes {
	r := featureReader[T]{phi: phi, rows: rows, count: m.n, weight: m.weight, outputs: len(m.targets), mean: m.mean}
	if !centred {
		r.mean = make([]float64, len(m.mean))
	}
	r.shift = dense.Copy(dense.Matrix[T]{}, dense.Of(1, len(r.mean), r.mean)).Data
	p, _ := door.Choose[T, passes](passes32, passes64, r)
	return p
}

//go:noinline
func passes32(r any) (any, error) { p := r.(featureReader[float32]); return &p, nil }

//go:noinline
func passes64(r any) (any, error) { p := r.(featureReader[float64]); return &p, nil }

type featureReader[T dense.Float] struct {
	phi     rff.Map[T]
	rows    Rows[T]
	count   int       // of rows with a weight
	weight  float64   // Σω
	outputs int       // of the rows
	mean    []float64 // φ̄; zeros without an intercept
	shift   []T       // mean rounded to T

	narrow   products[T]
	wide     products[float64]
	features scratch.Buffer[T]
	centred  scratch.Buffer[float64] // features of float32 minus their mean
	weights  []float64
}

const rowGrain = 1 << 14

// rowsOf returns the number of rows whose features are computed together, at most 32 MiB. It does
// not depend on the machine, because the rounding of sums depends on it.
func rowsOf(width int) int { return max(16, min(256, 1<<22/width)) }

func (o *featureReader[T]) unit() float64 {
	if _, double := any(*new(T)).(float64); double {
		return 0x1p-53
	}
	return 0x1p-24
}

func (o *featureReader[T]) Multiply(ctx context.Context, dst, v dense.Matrix[float64], wide bool) error {
	return o.pass(ctx, dst, v, wide, nil)
}

func (o *featureReader[T]) pass(ctx context.Context, sum, v dense.Matrix[float64], wide bool, fill func(u, phi dense.Matrix[float64], weights []float64)) error {
	wide = wide || o.unit() == 0x1p-53
	scales := o.begin(sum, v, wide)
	count, most := 0, rowsOf(len(o.mean))
	d, _ := o.phi.Dims()
	err := each(ctx, o.rows, func(all Block[T]) error {
		if err := all.Check(d, o.outputs); err != nil {
			return err
		}
		for lo := 0; lo < all.X.Rows; lo += most {
			if err := ctx.Err(); err != nil {
				return err
			}
			b := all.RowRange(lo, min(lo+most, all.X.Rows))
			o.weights = scratch.Resize(o.weights, b.X.Rows)
			for i := range o.weights {
				if o.weights[i] = b.Weight(i); o.weights[i] > 0 {
					count++
				}
			}
			o.features.Shape(b.X.Rows, len(o.mean))
			phi := o.phi.Transform(o.features.Rows(b.X.Rows), b.X)
			if wide {
				exact := o.about(phi)
				o.wide.add(exact, o.weights, func(u dense.Matrix[float64]) { fill(u, exact, o.weights) })
				continue
			}
			parallel.Rows(phi.Rows, 1+rowGrain/phi.Cols, func(lo, hi int) {
				for i := lo; i < hi; i++ {
					if o.weights[i] == 0 {
						clear(phi.Row(i))
						continue
					}
					vecmath.AddScaled(phi.Row(i), o.shift, -1)
				}
			})
			o.narrow.add(phi, o.weights, nil)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if count != o.count {
		return fmt.Errorf("ridge: rows has %d rows with a weight, and had %d before", count, o.count)
	}
	o.narrow.flush()
	o.wide.flush()
	for i := range sum.Rows {
		row := sum.Row(i)[:v.Cols]
		for j := range row {
			row[j] *= scales[j]
		}
	}
	if !wide {
		o.recentre(sum, v)
	}
	return nil
}

// begin clears sum and prepares products with V. If the pass is not wide, begin divides the columns
// of V by the powers of two that it returns, so that T can represent them.
func (o *featureReader[T]) begin(sum, v dense.Matrix[float64], wide bool) []float64 {
	scales := slices.Repeat([]float64{1}, v.Cols)
	for i := range sum.Rows {
		clear(sum.Row(i))
	}
	if wide {
		o.wide.begin(sum, v)
		return scales
	}
	largest := make([]float64, v.Cols)
	for i := range v.Rows {
		for j, e := range v.Row(i) {
			largest[j] = max(largest[j], math.Abs(e))
		}
	}
	for j, e := range largest {
		if _, exponent := math.Frexp(e); e > 0 {
			scales[j] = math.Ldexp(1, exponent)
		}
	}
	rounded := dense.New[T](v.Rows, v.Cols)
	for i := range v.Rows {
		to := rounded.Row(i)
		for j, e := range v.Row(i) {
			to[j] = T(e / scales[j])
		}
	}
	o.narrow.begin(sum, rounded)
	return scales
}

// A row of weight 0 becomes zeros, because its features may be infinite.
func (o *featureReader[T]) about(phi dense.Matrix[T]) dense.Matrix[float64] {
	to, double := any(phi).(dense.Matrix[float64])
	if !double {
		o.centred.Shape(phi.Rows, phi.Cols)
		to = o.centred.Rows(phi.Rows)
	}
	parallel.Rows(phi.Rows, 1+rowGrain/phi.Cols, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := to.Row(i)
			if o.weights[i] == 0 {
				clear(row)
				continue
			}
			for f, e := range phi.Row(i) {
				row[f] = float64(e) - o.mean[f]
			}
		}
	})
	return to
}

// recentre subtracts W·δδᵀV, δ = φ̄ − T(φ̄), for the rounding of the mean.
func (o *featureReader[T]) recentre(sum, v dense.Matrix[float64]) {
	shares := make([]float64, v.Cols)
	for f, m := range o.mean {
		delta := m - float64(o.shift[f])
		for j, e := range v.Row(f) {
			shares[j] += delta * e
		}
	}
	for f, m := range o.mean {
		delta := o.weight * (m - float64(o.shift[f]))
		row := sum.Row(f)
		for j, e := range shares {
			row[j] -= delta * e
		}
	}
}

// groupBlocks is the number of blocks whose products are summed in E before flush.
const groupBlocks = 16

// products computes the sums of [Φᵀ(ΩΦV) ΦᵀU] over blocks of rows of Φ.
type products[E dense.Float] struct {
	sum     dense.Matrix[float64]
	right   matmul.Packed[E] // V
	columns int              // of V
	u       scratch.Buffer[E]
	part    dense.Matrix[E]
	blocks  int // in part
}

func (p *products[E]) begin(sum dense.Matrix[float64], v dense.Matrix[E]) {
	p.sum, p.columns, p.blocks = sum, v.Cols, 0
	if v.Cols > 0 {
		matmul.Pack(&p.right, v)
	}
	if p.part.Rows != sum.Rows || p.part.Cols != sum.Cols {
		p.part = dense.New[E](sum.Rows, sum.Cols)
	}
}

// fill writes U, and is nil if U has no columns.
func (p *products[E]) add(phi dense.Matrix[E], weights []float64, fill func(u dense.Matrix[E])) {
	p.u.Shape(phi.Rows, p.sum.Cols)
	u := p.u.Rows(phi.Rows)
	if p.columns > 0 {
		own := u.ColRange(0, p.columns)
		matmul.MulPacked(1, phi, &p.right, 0, own, nil)
		for i, w := range weights {
			vecmath.Scale(own.Row(i), E(w))
		}
	}
	if p.columns < u.Cols {
		fill(u.ColRange(p.columns, u.Cols))
	}
	beta := E(1)
	if p.blocks == 0 {
		beta = 0
	}
	matmul.TMul(1, phi, u, beta, p.part)
	if p.blocks++; p.blocks == groupBlocks {
		p.flush()
	}
}

func (p *products[E]) flush() {
	if p.blocks == 0 {
		return
	}
	p.blocks = 0
	parallel.Rows(p.part.Rows, 1+1<<15/p.part.Cols, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			to := p.sum.Row(i)
			for j, v := range p.part.Row(i) {
				to[j] += float64(v)
			}
		}
	})
}
