package kernelridge

import (
	"fmt"
	"io"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/kernels"
)

// recipe lists the parts of the file of a Model.
type recipe[T dense.Float] struct {
	Kernel   kernels.Kernel
	Rows     dense.Matrix[T]
	Origin   []float64
	Weights  dense.Matrix[float64]
	Constant []float64
	Ratio    float64
	LeftOut  dense.Matrix[float64] // no elements without probes
}

// Write writes the model as a safetensors file of n·d numbers of T and 8·n·p bytes, twice as many
// with probes. The error reports a kernel of a type that files do not have, and the errors of w.
func (m *Model[T]) Write(w io.Writer) error {
	return archive.Write[T](w, "kernelridge", "kernelridge", recipe[T]{m.k, m.rows, m.origin, m.weights, m.constant, m.ratio, m.errors})
}

// ReadModel reads a model that Model.Write wrote, to the end of r. Predictions have the same bits on
// the same processor and version of this module. The error names a missing, damaged or unknown part
// of the file, and reports the errors of r.
func ReadModel[T dense.Float](r io.Reader) (*Model[T], error) {
	p, err := archive.Read[T, recipe[T]](r, "kernelridge", "kernelridge")
	if err != nil {
		return nil, err
	}
	if err := argument.Kernel("kernelridge: the kernel of the file", p.Kernel); err != nil {
		return nil, err
	}
	width := p.Rows.Cols
	if pullback, ok := p.Kernel.(kernels.Pullback); ok {
		width = pullback.A.Rows
		if pullback.A.Cols != p.Rows.Cols {
			return nil, fmt.Errorf("kernelridge: a kernel of %d columns and rows of %d", pullback.A.Cols, p.Rows.Cols)
		}
	}
	n, outputs := p.Weights.Rows, p.Weights.Cols
	if n == 0 || outputs == 0 || p.Rows.Rows != n || len(p.Origin) != width || len(p.Constant) != outputs || p.LeftOut.Data != nil && p.LeftOut.Cols != outputs {
		return nil, fmt.Errorf("kernelridge: %d rows of %d columns, an origin of %d, %d×%d weights, %d constants and errors of %d columns do not fit together",
			p.Rows.Rows, width, len(p.Origin), n, outputs, len(p.Constant), p.LeftOut.Cols)
	}
	for name, x := range map[string][]float64{"origin": p.Origin, "constant": p.Constant, "ratio": {p.Ratio}} {
		if err := argument.FiniteAll("kernelridge: "+name, x); err != nil {
			return nil, err
		}
	}
	for name, x := range map[string]dense.Matrix[float64]{"weights": p.Weights, "leftOut": p.LeftOut} {
		if err := argument.Finite("kernelridge: "+name, x); err != nil {
			return nil, err
		}
	}
	if err := argument.Finite("kernelridge: rows", p.Rows); err != nil {
		return nil, err
	}
	return &Model[T]{p.Kernel, p.Rows, p.Origin, p.Weights, p.Constant, p.Ratio, p.LeftOut}, nil
}
