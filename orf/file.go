package orf

import (
	"errors"
	"io"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/file/registry"
)

// Write writes a projection of Draw or FromMatrix as a safetensors file, which NumPy reads, with
// the parts that docs/maps.md lists. Structured frequencies are written as their signs,
// permutations, rotations and lengths, never as a matrix. The error reports a nil p, a projection
// of another package, and the errors of w.
func Write[T dense.Float](w io.Writer, p Projection[T]) error {
	if p == nil {
		return errors.New("orf: p is nil, want a projection")
	}
	return archive.Write[T](w, "orf", "projection", p)
}

// Read reads a projection that Write wrote, to the end of r. The projection that Read returns has
// the structure, the speed and the Ensemble of the written one, and projects points to the same
// bits, on the same processor and version of this module.
//
// The error names what is missing, damaged or unknown in the file, a file of the other element type
// and one of another version of the format, and reports the errors of r. Memory use is bounded by
// the bytes that arrive.
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
