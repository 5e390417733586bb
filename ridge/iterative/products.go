package iterative

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

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

// begin prepares p for a pass that adds its products to sum.
func (p *products[E]) begin(sum dense.Matrix[float64], v dense.Matrix[E]) {
	p.sum, p.columns, p.blocks = sum, v.Cols, 0
	if v.Cols > 0 {
		matmul.Pack(&p.right, v)
	}
	if p.part.Rows != sum.Rows || p.part.Cols != sum.Cols {
		p.part = dense.New[E](sum.Rows, sum.Cols)
	}
}

// add adds the rows of phi. fill writes U, and is nil if U has no columns.
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

// flush adds the products since the previous flush to sum.
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
