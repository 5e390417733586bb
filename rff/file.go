package rff

import (
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Write writes a map as a safetensors file, which NumPy reads: what was drawn and fitted, and the
// parameters. All maps of this package can be written, with their frequencies, the maps that they
// are made of, and their partners. The exceptions are maps of your own functions (New) and maps
// that contain a map, a projection or a kernel of another package. Nothing is written in such a
// case.
//
// The arrays and the parameters have the names of the arguments of the constructor. For example a
// map of Gaussian has the metadata map: Gaussian, map.lengthScale: 0.75 and map.w: Explicit, and
// the tensor map.w.frequencies (m×d); package documentation says more under Files.
//
// The error reports a nil map, a part that cannot be written, and the errors of w.
func Write[T dense.Float](w io.Writer, m Map[T]) error {
	if m == nil {
		return errors.New("rff: m is nil, want a map")
	}
	if err := archive.Write[T](w, "map", m); err != nil {
		return fmt.Errorf("rff: %w", err)
	}
	return nil
}

// Read reads a map that Write wrote, to the end of r. Structured frequencies keep their structure,
// so the map is as fast as it was. It has the interfaces and the law of the map that was written,
// and its results have the same bits, on the same processor and version of this package.
//
// The error names what is missing, damaged or unknown in the file, a file of the other element type
// and one of a later version, and reports the errors of r. Memory use is bounded by the bytes that
// arrive, whatever the file claims.
func Read[T dense.Float](r io.Reader) (Map[T], error) {
	m, err := archive.Read[T, Map[T]](r, "map")
	if err == nil && m == nil {
		err = errors.New("map is nil")
	}
	if err != nil {
		return nil, fmt.Errorf("rff: %w", err)
	}
	return m, nil
}

// pointsFit reports a kernel that has a part for points of another dimension than d. Such a kernel
// panics.
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

// A recipe is a struct of the arguments of a constructor, and makers has a function for each recipe
// that makes the map. The recipes of files have exported fields. They hold what the constructor
// drew or fitted, in place of a source or samples. A recipe has no methods: packages that call the
// constructor would compile the methods, and with them the map.

// build returns the map that the recipe makes. It is the door of this package: constructors call
// build, and makeMap calls functions that this package has compiled.
func build[M any](recipe any) (none M, _ error) {
	m, err := makeMap(recipe)
	if err != nil {
		return none, err
	}
	return m.(M), nil
}

//go:noinline
func makeMap(recipe any) (any, error) { return makers[reflect.TypeOf(recipe)](recipe) }

// makers are the functions that make maps, by the type of their recipe.
var makers = map[reflect.Type]func(recipe any) (any, error){}

func init() {
	archive.Register(map[string]any{
		"Angular": kernels.Angular{}, "Boxes": kernels.Boxes{}, "ArcCosine": kernels.ArcCosine{},
		"DotProduct": kernels.DotProduct{}, "ELU": kernels.ELU{},
		"Gaussian":  kernels.Gaussian{},
		"Laplacian": kernels.Laplacian{}, "Matern": kernels.Matern{},
		"Polynomial": kernels.Polynomial{}, "Product": kernels.Product{}, "Pullback": kernels.Pullback{},
		"RationalQuadratic": kernels.RationalQuadratic{}, "Scaled": kernels.Scaled{},
		"Softmax": kernels.Softmax{}, "Sum": kernels.Sum{},
	}, func(k any) (kernels.Kernel, error) {
		kernel := k.(kernels.Kernel)
		return kernel, kernels.Check(kernel)
	})
	register[float32]()
	register[float64]()
}

// register names the functions that make maps.
func register[T dense.Float]() {
	maker("ADERF", newADERF[T])
	maker("Affine", newAffine[T])
	maker("Angular", newAngular[T])
	maker("ArcCosine", newArcCosine[T])
	maker("Boxes", newBoxes[T])
	maker("Centred", newCentred[T])
	maker("Compose", newCompose[T])
	maker("DotProduct", newDotProduct[T])
	maker("ELU", newELU[T])
	maker("Gaussian", newGaussian[T])
	maker("GaussianHyperbolic", newGaussianHyperbolic[T])
	maker("GaussianOptimal", newGaussianOptimal[T])
	maker("GaussianPhase", newGaussianPhase[T])
	maker("GaussianPositive", newGaussianPositive[T])
	maker("Gradients", newGradients[T])
	maker("Identity", newIdentity[T])
	maker("Keys", newKeys[T])
	maker("Laplacian", newLaplacian[T])
	maker("Matern", newMatern[T])
	maker("Nystroem", newNystroem[T])
	maker("PCA", newPCA[T])
	maker("Quadratic", newQuadratic[T])
	maker("SADERF", newSADERF[T])
	maker("SDERF", newSDERF[T])
	maker("Scale", newScale[T])
	maker("SoftmaxHyperbolic", newSoftmaxHyperbolic[T])
	maker("SoftmaxOptimal", newSoftmaxOptimal[T])
	maker("SoftmaxPositive", newSoftmaxPositive[T])
	maker("SoftmaxTrig", newSoftmaxTrig[T])
	maker("Spectral", newSpectral[T])
	maker("Sum", newSum[T])
	maker("Taylor", newTaylor[T])
	// The recipes below have a source, samples or functions.
	maker("", fitADERF[T])
	maker("", drawBoxes[T])
	maker("", drawGaussianPhase[T])
	maker("", drawMatern[T])
	maker("", fitNystroem[T])
	maker("", fitPCA[T])
	maker("", fitSADERF[T])
	maker("", fitSDERF[T])
	maker("", fitSpectral[T])
	maker("", newScheme[T])
}

// maker registers a function that makes maps. Files call its recipe name. A recipe without a name
// is in no file.
func maker[R any, T dense.Float](name string, make func(recipe R) (Map[T], error)) {
	var zero R
	makers[reflect.TypeOf(zero)] = func(recipe any) (any, error) { return make(recipe.(R)) }
	if name != "" {
		archive.Register(map[string]any{name: zero}, func(recipe any) (Map[T], error) { return make(recipe.(R)) })
	}
}
