package rff

import (
	"errors"
	"fmt"
	"io"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/door"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/file/registry"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Write writes the feature map m to w as a safetensors file, which NumPy reads, with all that was
// drawn and fitted; docs/maps.md lists the contents of the file. Write can write every map of this
// package except for maps of New and maps with a part (map, projection or kernel) of a type of your
// own. Write returns an error for a part of m that no file can hold, before anything is written,
// and for a failed write.
func Write[T dense.Float](w io.Writer, m Map[T]) error {
	if m == nil {
		return errors.New("rff: m is nil, want a map")
	}
	return archive.Write[T](w, "rff", "map", m)
}

// Read reads a feature map that Write wrote, to the end of r. The map of Read has the interfaces,
// the formulas of errors and the structure of frequencies of the written map, and computes the same
// features, bit for bit on equal processors and versions of package rff.
//
// Read returns an error for a part of the file that is missing, damaged or unknown, and a file of
// the other element type (float32 or float64) or of another version of the format. Read uses memory
// in proportion to the bytes that arrive, not to the sizes that the file claims.
func Read[T dense.Float](r io.Reader) (Map[T], error) {
	return archive.Read[T, Map[T]](r, "rff", "map")
}

func pointsFit(k kernels.Kernel, d int) error {
	var parts []kernels.Kernel
	switch k := k.(type) {
	case kernels.Sum:
		parts = k
	case kernels.Product:
		parts = k
	case kernels.Scaled:
		return pointsFit(k.K, d)
	case kernels.Pullback:
		if k.A.Cols != d {
			return fmt.Errorf("rff: k is a kernel of points of R^%d, want R^%d", k.A.Cols, d)
		}
		return pointsFit(k.K, k.A.Rows)
	case kernels.Boxes:
		if k.Thresholds.Rows != d {
			return fmt.Errorf("rff: k is a kernel of points of R^%d, want R^%d", k.Thresholds.Rows, d)
		}
	}
	for _, part := range parts {
		if err := pointsFit(part, d); err != nil {
			return err
		}
	}
	return nil
}

// build makes the map of a recipe: the arguments of a constructor, or what it drew and fitted. A
// recipe has no methods, which importers would compile with the map.
func build[T dense.Float](recipe any) (Map[T], error) {
	return door.Choose[T, Map[T]](make32, make64, recipe)
}

//go:noinline
func make32(recipe any) (any, error) { return makeMap[float32](recipe) }

//go:noinline
func make64(recipe any) (any, error) { return makeMap[float64](recipe) }

func makeMap[T dense.Float](recipe any) (Map[T], error) {
	switch r := recipe.(type) {
	case drawn[T]:
		return draw(r)
	case schemeRecipe[T]:
		return newScheme(r)
	case centredRecipe[T]:
		return newCentred(r)
	case composeRecipe[T]:
		return newCompose(r)
	case gradientsRecipe[T]:
		return newGradients(r)
	case keysRecipe[T]:
		return newKeys(r)
	case sumRecipe[T]:
		return newSum(r)
	case nystroemRecipe:
		return nystroemMap[T](r)
	case spectralRecipe:
		return spectralMap[T](r)
	}
	panic(fmt.Sprintf("rff: %T is no recipe", recipe))
}

func init() {
	registry.Register(registry.Named(specs...), func(s any) (Spec, error) { return s.(Spec), nil })
	registry.Register(registry.Named(
		kernels.Angular{}, kernels.Boxes{}, kernels.ArcCosine{}, kernels.DotProduct{}, kernels.ELU{},
		kernels.Gaussian{}, kernels.Laplacian{}, kernels.Matern{}, kernels.Polynomial{},
		kernels.Product{}, kernels.Pullback{}, kernels.RationalQuadratic{}, kernels.Scaled{},
		kernels.Softmax{}, kernels.Sum{},
	), func(k any) (kernels.Kernel, error) {
		kernel := k.(kernels.Kernel)
		return kernel, kernels.Check(kernel)
	})
	register[float32]()
	register[float64]()
}

func register[T dense.Float]() {
	registry.Register(map[string]any{
		"Centred": centredRecipe[T]{}, "Compose": composeRecipe[T]{}, "Drawn": drawn[T]{},
		"Gradients": gradientsRecipe[T]{}, "Keys": keysRecipe[T]{}, "Nystroem": nystroemRecipe{},
		"Spectral": spectralRecipe{}, "Sum": sumRecipe[T]{},
	}, makeMap[T])
}
