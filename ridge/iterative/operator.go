package iterative

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// moments are sums over the rows whose weight is not 0.
type moments struct {
	count     int       // n
	weight    float64   // Σω
	logWeight float64   // Σ log ω
	mean      []float64 // φ̄; zeros without an intercept
	targets   []float64 // ȳ; zeros without an intercept
	squares   []float64 // Σω(y − ȳ)²
	trace     float64   // tr S
}

// operator is the matrix S = Σω(φ − φ̄)(φ − φ̄)ᵀ of rows. operator is never formed.
type operator interface {
	// survey computes the moments of the rows without squares and trace.
	survey(ctx context.Context, intercept bool) error
	// pass reads the rows once. pass writes S·V into the first columns of sum, and Φᵀ·U into the
	// others, where fill writes U and Φ has the features minus the mean. Products of a wide pass
	// are those of float64, and products of other passes are those of T.
	pass(ctx context.Context, sum, v dense.Matrix[float64], wide bool, fill right) error
	// forget frees the memory for products.
	forget()
}

// right writes the rows of U for a block into u. phi has the features minus the mean.
type right func(u, phi, y dense.Matrix[float64], weights []float64)

// source makes operators of rows. The operators share memory.
type source[T dense.Float] interface {
	of(m *moments, rows ridge.Rows[T]) operator
}

func newSource[T dense.Float](phi rff.Map[T]) source[T] {
	if _, single := any(*new(T)).(float32); single {
		return newSingle(phi).(source[T])
	}
	return newDouble(phi).(source[T])
}

//go:noinline
func newSingle(phi any) any { return &passes[float32]{phi: phi.(rff.Map[float32])} }

//go:noinline
func newDouble(phi any) any { return &passes[float64]{phi: phi.(rff.Map[float64])} }

// passes is an operator that reads the rows in each pass.
type passes[T dense.Float] struct {
	phi  rff.Map[T]
	rows ridge.Rows[T]
	*moments
	narrow products[T]
	wide   products[float64]

	features scratch.Buffer[T]
	centred  scratch.Buffer[float64] // features of float32 minus their mean
	weights  []float64
	shift    []T // the mean rounded to T
}

// rowGrain is the number of features for which another processor is worth its start.
const rowGrain = 1 << 14

// rowsOf returns the number of rows whose features are computed together, at most 32 MiB. It does
// not depend on the machine, because the rounding of sums depends on it.
func rowsOf(width int) int { return max(16, min(256, 1<<22/width)) }

// blocks yields the rows in small blocks. blocks ends with an error of rows, of the check of rows,
// or of ctx. If outputs is −1, the first block sets the number of outputs.
func blocks[T dense.Float](ctx context.Context, phi rff.Map[T], rows ridge.Rows[T], outputs int) iter.Seq2[ridge.Block[T], error] {
	d, width := phi.Dims()
	most := rowsOf(width)
	return func(yield func(ridge.Block[T], error) bool) {
		at := 0
		for b, err := range rows.Blocks() {
			if err == nil && outputs < 0 {
				if outputs = b.Y.Cols; outputs < 1 {
					err = errors.New("iterative: rows have no targets, want at least 1")
				}
			}
			if err == nil {
				err = b.Check(d, outputs)
				if err != nil && at > 0 {
					err = fmt.Errorf("%w (in the block that begins with row %d)", err, at)
				}
			}
			if err != nil {
				yield(b, err)
				return
			}
			for lo := 0; lo < b.X.Rows; lo += most {
				if err := ctx.Err(); err != nil {
					yield(b, err)
					return
				}
				if !yield(b.RowRange(lo, min(lo+most, b.X.Rows)), nil) {
					return
				}
			}
			at += b.X.Rows
		}
		if err := ctx.Err(); err != nil {
			yield(ridge.Block[T]{}, err)
		}
	}
}

// weigh returns the weights of the rows of b.
func weigh[T dense.Float](to []float64, b ridge.Block[T]) []float64 {
	to = scratch.Resize(to, b.X.Rows)
	for i := range to {
		to[i] = b.Weight(i)
	}
	return to
}

func (o *passes[T]) of(m *moments, rows ridge.Rows[T]) operator {
	o.moments, o.rows = m, rows
	return o
}

// survey sums differences from the first row, so that a large mean costs no accuracy.
func (o *passes[T]) survey(ctx context.Context, intercept bool) error {
	_, width := o.phi.Dims()
	o.mean = make([]float64, width)
	var first []float64 // targets of the first row
	sum := dense.New[float64](width, 1)
	for b, err := range blocks(ctx, o.phi, o.rows, -1) {
		if err != nil {
			return err
		}
		o.weights = weigh(o.weights, b)
		for i, w := range o.weights {
			if w == 0 {
				continue
			}
			if o.count == 0 {
				first = dense.Copy(dense.Matrix[float64]{}, b.Y.RowRange(i, i+1)).Data
				o.targets = make([]float64, b.Y.Cols)
				if intercept {
					for f, v := range o.transform(b.X.RowRange(i, i+1)).Row(0) {
						o.mean[f] = float64(v)
					}
					o.wide.begin(sum, dense.Matrix[float64]{})
				}
			}
			o.count++
			o.weight += w
			o.logWeight += math.Log(w)
			for j, v := range b.Y.Row(i) {
				o.targets[j] += w * (float64(v) - first[j])
			}
		}
		if intercept && o.count > 0 {
			o.wide.add(o.about(o.transform(b.X)), o.weights, func(u dense.Matrix[float64]) {
				for i, w := range o.weights {
					u.Set(i, 0, w)
				}
			})
		}
	}
	if o.count == 0 {
		return errors.New("iterative: no rows, want at least 1 with a weight above 0")
	}
	if !intercept {
		clear(o.targets)
		return nil
	}
	o.wide.flush()
	for f := range o.mean {
		o.mean[f] += sum.At(f, 0) / o.weight
	}
	for j := range o.targets {
		o.targets[j] = first[j] + o.targets[j]/o.weight
	}
	return argument.FiniteAll("iterative: mean of feature", o.mean)
}

// forget frees the products. A sketch has far more columns than later passes.
func (o *passes[T]) forget() { o.narrow, o.wide = products[T]{}, products[float64]{} }

func (o *passes[T]) pass(ctx context.Context, sum, v dense.Matrix[float64], wide bool, fill right) error {
	_, double := any(*new(T)).(float64)
	wide = wide || double
	scales := o.begin(sum, v, wide)
	count := 0
	for b, err := range blocks(ctx, o.phi, o.rows, len(o.targets)) {
		if err != nil {
			return err
		}
		o.weights = weigh(o.weights, b)
		for _, w := range o.weights {
			if w > 0 {
				count++
			}
		}
		phi := o.transform(b.X)
		if wide {
			exact := o.about(phi)
			o.wide.add(exact, o.weights, func(u dense.Matrix[float64]) { fill(u, exact, dense.Copy(dense.Matrix[float64]{}, b.Y), o.weights) })
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
	if count != o.count {
		return fmt.Errorf("iterative: rows has %d rows with a weight, and had %d before", count, o.count)
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

// transform returns the features of the rows of x, in memory of o.
func (o *passes[T]) transform(x dense.Matrix[T]) dense.Matrix[T] {
	_, width := o.phi.Dims()
	o.features.Shape(x.Rows, width)
	return o.phi.Transform(o.features.Rows(x.Rows), x)
}

// begin clears sum and prepares products with V. If the pass is not wide, begin divides the columns
// of V by powers of two, so that T can represent them. begin returns these powers; pass multiplies
// by them.
func (o *passes[T]) begin(sum, v dense.Matrix[float64], wide bool) []float64 {
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
	if len(o.shift) != len(o.mean) {
		o.shift = dense.Copy(dense.Matrix[T]{}, dense.Of(1, len(o.mean), o.mean)).Data
	}
	return scales
}

// about returns the features minus their mean, in the memory of phi if T is float64. A row of
// weight 0 becomes zeros, because its features may be infinite.
func (o *passes[T]) about(phi dense.Matrix[T]) dense.Matrix[float64] {
	to, double := any(phi).(dense.Matrix[float64])
	if !double {
		o.centred.Shape(phi.Rows, phi.Cols)
		to = o.centred.Rows(phi.Rows)
	}
	parallel.Rows(phi.Rows, 1+rowGrain/phi.Cols, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			row := to.Row(i)
			switch {
			case o.weights[i] == 0:
				clear(row)
			case double:
				vecmath.AddScaled(row, o.mean, -1)
			default:
				for f, e := range phi.Row(i) {
					row[f] = float64(e) - o.mean[f]
				}
			}
		}
	})
	return to
}

// recentre corrects sum for the rounding of the mean: it subtracts W·δδᵀV, δ = φ̄ − T(φ̄).
func (o *passes[T]) recentre(sum, v dense.Matrix[float64]) {
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
