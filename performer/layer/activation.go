package layer

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// GatedSiLU writes the elementwise product silu(gate) ⊙ up of two matrices to the matrix dst and
// returns dst, where silu(x) = x/(1 + e^−x) [Shazeer 2020]; a zero dst is allocated. The matrix dst
// may be exactly gate or up, or share no memory with gate and up.
//
// Where gate or up has a NaN, GatedSiLU writes a NaN, and silu(−∞) is NaN. GatedSiLU allocates
// nothing unless dst is zero. GatedSiLU panics if gate, up and a dst that is not zero differ in
// shape.
func GatedSiLU[T dense.Float](dst, gate, up dense.Matrix[T]) dense.Matrix[T] {
	gate.Check()
	up.Check()
	if gate.Rows != up.Rows || gate.Cols != up.Cols {
		panic(fmt.Sprintf("layer: gate is %d×%d and up %d×%d, want the same", gate.Rows, gate.Cols, up.Rows, up.Cols))
	}
	dst = dense.Ensure(dst, gate.Rows, gate.Cols)
	run(rowCall[T]{x: gate, up: up, dst: dst})
	return dst
}

// For each row i of the matrix x, LogSumExp writes log Σ_j e^x_ij to dst[i], and returns dst; a nil
// dst is allocated. If the elements x_ij of x are logits, the cross-entropy loss of class j in row
// i is dst[i] − x_ij in nats.
//
// For a row without columns LogSumExp writes −∞, and for a row with a NaN, NaN. LogSumExp subtracts
// the largest finite element of a row from the row, so that exponentials do not overflow. LogSumExp
// adds up 256 exponentials at a time in the element type T of x, and the sums of 256 in float64.
//
// LogSumExp allocates nothing unless dst is nil. LogSumExp panics unless dst is nil or as long as x
// has rows.
func LogSumExp[T dense.Float](dst []float64, x dense.Matrix[T]) []float64 {
	x.Check()
	if dst == nil {
		dst = make([]float64, x.Rows)
	}
	if len(dst) != x.Rows {
		panic(fmt.Sprintf("layer: LogSumExp into %d numbers for %d rows", len(dst), x.Rows))
	}
	run(rowCall[T]{x: x, sums: dst})
	return dst
}

var rowCalls pool.Pair[rowCall[float32], rowCall[float64]]

type rowCall[T dense.Float] struct {
	x, up, dst dense.Matrix[T]
	sums       []float64
}

func run[T dense.Float](c rowCall[T]) {
	task, grain := pool.Get[rowCall[T]](&rowCalls), rowGrain(c.x.Cols)
	*task = c
	parallel.Do((c.x.Rows+grain-1)/grain, task)
	*task = rowCall[T]{}
	pool.Put(&rowCalls, task)
}

const exponentials = 256

func (c *rowCall[T]) Piece(i int) {
	grain := rowGrain(c.x.Cols)
	for r := i * grain; r < min((i+1)*grain, c.x.Rows); r++ {
		if c.sums != nil {
			c.sums[r] = logSumExp(c.x.Row(r))
		} else {
			gatedSiLU(c.dst.Row(r), c.x.Row(r), c.up.Row(r))
		}
	}
}

func gatedSiLU[T dense.Float](dst, x, up []T) {
	var part [exponentials]T
	for lo := 0; lo < len(x); lo += exponentials {
		e := part[:min(exponentials, len(x)-lo)]
		vecmath.Affine(e, x[lo:lo+len(e)], -1, 0)
		vecmath.Exp(e, e)
		for j, v := range e {
			dst[lo+j] = x[lo+j] / (1 + v) * up[lo+j]
		}
	}
}

func logSumExp[T dense.Float](x []T) float64 {
	var part [exponentials]T
	peak, sum := vecmath.Peak(x), 0.0
	if math.IsInf(float64(peak), -1) {
		peak = 0
	}
	for lo := 0; lo < len(x); lo += exponentials {
		e := part[:min(exponentials, len(x)-lo)]
		vecmath.ExpMinus(e, x[lo:lo+len(e)], peak)
		sum += float64(vecmath.Sum(e))
	}
	return float64(peak) + math.Log(sum)
}
