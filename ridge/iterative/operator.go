package iterative

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
)

// moments are what passes find of the rows with a weight. Exported fields are parts of files.
type moments struct {
	Count     int       // n, rows with a weight
	Weight    float64   // Σω
	LogWeight float64   // Σ log ω
	Mean      []float64 // φ̄; zeros without an intercept
	Targets   []float64 // ȳ; zeros without an intercept
	Squares   []float64 // Σω(y − ȳ)²
	Trace     float64   // of S
}

// operator is the matrix S = Σω(φ − φ̄)(φ − φ̄)ᵀ of rows, which is never formed.
type operator interface {
	// survey finds the moments of the rows, but for Squares and Trace.
	survey(ctx context.Context, intercept bool) error
	// pass reads the rows once and writes S·V, and Φᵀ·U for the more columns U that fill gives, into
	// the columns of sum, for Φ about the mean. In wide passes products are those of float64, and
	// otherwise of T.
	pass(ctx context.Context, sum, v dense.Matrix[float64], wide bool, fill right) error
	// forget frees the memory for products.
	forget()
}

// right writes columns of the rows of a block into u; phi are their features about the mean.
type right func(u, phi, y dense.Matrix[float64], weights []float64)

// source makes operators of rows, which share memory.
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

// passes is an operator by passes over rows.
type passes[T dense.Float] struct {
	phi  rff.Map[T]
	rows ridge.Rows[T]
	*moments
	narrow products[T]
	wide   products[float64]

	features scratch.Buffer[T]
	centred  scratch.Buffer[float64] // features of float32 about their mean
	weights  []float64
	shift    []T // the mean, rounded
}

// rowGrain is the number of features that are worth another processor.
const rowGrain = 1 << 14

// rowsOf returns the number of rows whose features are formed together, 32 MiB of them. The
// rounding of sums depends on it, which therefore follows no machine.
func rowsOf(width int) int { return max(16, min(256, 1<<22/width)) }

// blocks returns the rows a few at a time, and stops at an error of rows, rows that do not fit, and
// the end of ctx. outputs is −1 if any number of at least 1 will do.
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

// weigh returns the weights of the rows.
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

// forget frees memory that is far larger for a sketch than for any other pass.
func (o *passes[T]) forget() { o.narrow, o.wide = products[T]{}, products[float64]{} }

func (o *passes[T]) pass(ctx context.Context, sum, v dense.Matrix[float64], wide bool, fill right) error {
	var x T
	_, double := any(x).(float64)
	wide = wide || double
	scales := o.begin(sum, v, wide)
	count := 0
	for b, err := range blocks(ctx, o.phi, o.rows, len(o.Targets)) {
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
	if count != o.Count {
		return fmt.Errorf("iterative: rows has %d rows with a weight, and had %d before", count, o.Count)
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

// transform returns the features of the rows, in memory of o.
func (o *passes[T]) transform(x dense.Matrix[T]) dense.Matrix[T] {
	_, width := o.phi.Dims()
	o.features.Shape(x.Rows, width)
	return o.phi.Transform(o.features.Rows(x.Rows), x)
}

// begin clears sum and takes V, whose columns of a pass in T are scaled to the range of T: by
// powers of two, which begin returns. They have to be taken back.
func (o *passes[T]) begin(sum, v dense.Matrix[float64], wide bool) []float64 {
	scales := make([]float64, v.Cols)
	for i := range scales {
		scales[i] = 1
	}
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
	if len(o.shift) != len(o.Mean) {
		o.shift = make([]T, len(o.Mean))
		for f, m := range o.Mean {
			o.shift[f] = T(m)
		}
	}
	return scales
}

// about returns the features about their mean, in place if they are float64. Rows without a weight
// are zeros; their features may be infinite.
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
				vecmath.AddScaled(row, o.Mean, -1)
			default:
				for f, e := range phi.Row(i) {
					row[f] = float64(e) - o.Mean[f]
				}
			}
		}
	})
	return to
}

// recentre takes off sum what the rounding of the mean has added: with δ = φ̄ − T(φ̄), W·δδᵀV.
func (o *passes[T]) recentre(sum, v dense.Matrix[float64]) {
	shares := make([]float64, v.Cols)
	for f, m := range o.Mean {
		delta := m - float64(o.shift[f])
		for j, e := range v.Row(f) {
			shares[j] += delta * e
		}
	}
	for f, m := range o.Mean {
		delta := o.Weight * (m - float64(o.shift[f]))
		row := sum.Row(f)
		for j, e := range shares {
			row[j] -= delta * e
		}
	}
}
