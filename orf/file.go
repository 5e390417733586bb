package orf

import (
	"errors"
	"io"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/file/registry"
)

// Write writes the projection p, a result of Draw, FromMatrix or Read, to w as a safetensors file;
// docs/maps.md lists the contents of the file. Write stores frequencies of the laws Hadamard and
// Givens as signs, permutations, plane rotations and lengths, never as a matrix. Write returns an
// error for a projection p that is not of package orf, and for a failed write to w.
func Write[T dense.Float](w io.Writer, p Projection[T]) error {
	if p == nil {
		return errors.New("orf: p is nil, want a projection")
	}
	return archive.Write[T](w, "orf", "projection", p)
}

// Read reads r to the end and returns the projection that Write wrote, with the same speed and
// Ensemble, and the same bits on the same kind of processor and version of this module. Read
// returns an error for a part of the file that is missing, damaged or unknown, and a file of
// another element type than T or another version of the format. Read allocates memory in proportion
// to the bytes that arrive from r, not to claimed sizes.
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

type recipe[T dense.Float] interface {
	make() (Projection[T], error)
}
