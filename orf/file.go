package orf

import (
	"errors"
	"io"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/file/registry"
)

// Write writes a projection of Draw or FromMatrix as a safetensors file, which NumPy reads;
// docs/maps.md lists the contents of the file. Frequencies of the laws Hadamard and Givens are
// written as signs, permutations, rotations and lengths, never as a matrix. Write returns an error
// for a nil p, a projection of another package, and a failed write to w.
func Write[T dense.Float](w io.Writer, p Projection[T]) error {
	if p == nil {
		return errors.New("orf: p is nil, want a projection")
	}
	return archive.Write[T](w, "orf", "projection", p)
}

// Read reads a projection that Write wrote, to the end of r. The projection that Read returns has
// the structure, the speed and the Ensemble of the projection that was written, and projects points
// to bit for bit the same results on the same processor and version of this module.
//
// Read returns an error for a part of the file that is missing, damaged or unknown, a file of the
// other element type (float32 or float64) or of another version of the format, and a failed read
// from r. The memory that Read uses is bounded by the number of bytes that arrive from r.
func Read[T dense.Float](r io.Reader) (Projection[T], error) {
	return archive.Read[T, Projection[T]](r, "orf", "projection")
}

func init() {
	registry.Register(registry.Named(IID{}, GramSchmidt{}, Simplex{}, Hadamard{}, Givens{}, Halton{}, Cauchy{}), func(e any) (Ensemble, error) { return e.(Ensemble), nil })
	register[float32]()
	register[float64]()
}

func register[T dense.Float]() {
	registry.Register(map[string]any{"Explicit": explicitRecipe[T]{}, "Structured": structuredRecipe[T]{}}, func(r any) (Projection[T], error) { return r.(recipe[T]).make() })
}

// recipe has the parts of a projection. A file stores the exported fields.
type recipe[T dense.Float] interface {
	make() (Projection[T], error)
}
