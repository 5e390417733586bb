package rff

import (
	"errors"
	"fmt"
	"io"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/archive"
	"github.com/seed-feabd252/randfeat/internal/instance"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// Write writes a map as a safetensors file, which NumPy reads: what was drawn and fitted, and the
// parameters. All maps of this package can be written, with their frequencies, the maps that they
// are made of, and their partners. The exceptions are maps of your own functions (New) and maps
// that contain a map, a projection or a kernel of another package. Nothing is written in such a
// case.
//
// The arrays and the parameters have the names of the arguments of the constructor. For example a
// map of Gaussian has the metadata map: Gaussian, map.lengthScale: 0.75 and map.w: Explicit, and the
// tensor map.w.frequencies (m×d); package documentation says more under Files.
//
// The error reports a nil map, a part that cannot be written, and the errors of w.
func Write[T dense.Float](w io.Writer, m Map[T]) error {
	return instance.Of(&writeMapBoth, Write[T])(w, m)
}

var writeMapBoth = instance.Both{writeMap[float32], writeMap[float64]}

func writeMap[T dense.Float](w io.Writer, m Map[T]) error {
	if m == nil {
		return errors.New("rff: m is nil, want a map")
	}
	if err := archive.Write[T](w, "map", m); err != nil {
		return fmt.Errorf("rff: %w", err)
	}
	return nil
}

// Read reads a map that Write wrote, to the end of r. Structured frequencies keep their structure, so
// the map is as fast as it was. It has the interfaces and the law of the map that was written, and
// its results have the same bits, on the same processor and version of this package.
//
// The error names what is missing, damaged or unknown in the file, a file of the other element type
// and one of a later version, and reports the errors of r. Memory use is bounded by the bytes that
// arrive, whatever the file claims.
func Read[T dense.Float](r io.Reader) (Map[T], error) {
	return instance.Of(&readMapBoth, Read[T])(r)
}

var readMapBoth = instance.Both{readMap[float32], readMap[float64]}

func readMap[T dense.Float](r io.Reader) (Map[T], error) {
	m, err := archive.Read[T, Map[T]](r, "map")
	if err == nil && m == nil {
		err = errors.New("map is nil")
	}
	if err != nil {
		return nil, fmt.Errorf("rff: %w", err)
	}
	return m, nil
}

// recipe is what a map is made of: the arguments of its constructor, with what it drew or fitted in
// place of sources and samples. The exported fields are what a file holds.
type recipe[T dense.Float] interface {
	make() (Map[T], error)
}

// recipeOf returns what a map of this package is made of, nil if that is functions.
func recipeOf[T dense.Float](m Map[T]) any {
	r, err := m.(archive.Made).Recipe()
	if err != nil {
		return nil
	}
	return r
}

func init() {
	archive.Register(map[string]any{
		"AdditiveChiSquare": kernels.AdditiveChiSquare{}, "Angular": kernels.Angular{}, "ArcCosine": kernels.ArcCosine{},
		"Convolution": kernels.Convolution{}, "DotProduct": kernels.DotProduct{}, "ELU": kernels.ELU{},
		"Gaussian": kernels.Gaussian{}, "Generalised": kernels.Generalised{}, "Homogeneous": kernels.Homogeneous{},
		"Laplacian": kernels.Laplacian{}, "Maclaurin": kernels.Maclaurin{}, "Matern": kernels.Matern{},
		"Polynomial": kernels.Polynomial{}, "Product": kernels.Product{}, "Pullback": kernels.Pullback{},
		"RationalQuadratic": kernels.RationalQuadratic{}, "Scaled": kernels.Scaled{}, "SkewedChiSquare": kernels.SkewedChiSquare{},
		"Softmax": kernels.Softmax{}, "Sum": kernels.Sum{},
	}, func(k any) (kernels.Kernel, error) {
		kernel := k.(kernels.Kernel)
		return kernel, kernels.Check(kernel)
	})
	register[float32]()
	register[float64]()
}

func register[T dense.Float]() {
	archive.Register(map[string]any{
		"ADERF": aderfRecipe[T]{}, "AdditiveChiSquare": additiveChiSquareRecipe[T]{}, "Affine": affineRecipe[T]{},
		"Angular": angularRecipe[T]{}, "ArcCosine": arcCosineRecipe[T]{}, "Centred": centredRecipe[T]{}, "Compose": composeRecipe[T]{},
		"Convolution": convolutionRecipe[T]{}, "DotProduct": dotProductRecipe[T]{}, "ELU": eluRecipe[T]{},
		"Gaussian": gaussianRecipe[T]{}, "GaussianHyperbolic": gaussianHyperbolicRecipe[T]{},
		"GaussianOptimal": gaussianOptimalRecipe[T]{}, "GaussianPhase": gaussianPhaseRecipe[T]{},
		"GaussianPositive": gaussianPositiveRecipe[T]{}, "Generalised": generalisedRecipe[T]{},
		"Homogeneous": homogeneousRecipe[T]{}, "Identity": identityRecipe[T]{}, "Keys": keysRecipe[T]{},
		"Laplacian": laplacianRecipe[T]{}, "Maclaurin": maclaurinRecipe[T]{}, "Matern": maternRecipe[T]{},
		"Nystroem": nystroemRecipe[T]{}, "PCA": pcaRecipe[T]{}, "Pair": pairRecipe[T]{},
		"PolynomialOf": polynomialOfRecipe[T]{}, "PolynomialSketch": polynomialSketchRecipe[T]{},
		"Quadratic": quadraticRecipe[T]{}, "SADERF": saderfRecipe[T]{}, "SDERF": sderfRecipe[T]{},
		"SkewedChiSquare": skewedChiSquareRecipe[T]{}, "SoftmaxHybrid": softmaxHybridRecipe[T]{},
		"SoftmaxHyperbolic": softmaxHyperbolicRecipe[T]{}, "SoftmaxOptimal": softmaxOptimalRecipe[T]{},
		"SoftmaxPositive": softmaxPositiveRecipe[T]{}, "SoftmaxTrig": softmaxTrigRecipe[T]{},
		"Spectral": spectralRecipe[T]{}, "Sum": sumRecipe[T]{}, "Taylor": taylorRecipe[T]{}, "TensorSketch": tensorSketchRecipe[T]{},
	}, func(r any) (Map[T], error) { return r.(recipe[T]).make() })
	archive.Register(map[string]any{
		"CountSketch": countSketchRecipe[T]{}, "FourierSketch": fourierSketchRecipe[T]{},
	}, func(r any) (orf.Projection[T], error) {
		return r.(interface {
			make() (orf.Projection[T], error)
		}).make()
	})
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
	case kernels.Homogeneous:
		return pointsFit(k.K, d)
	case kernels.Pullback:
		if k.A.Cols != d {
			return fmt.Errorf("rff: k is a kernel of points of R^%d, want R^%d", k.A.Cols, d)
		}
		return pointsFit(k.K, k.A.Rows)
	case kernels.Convolution:
		image, patch := k.Patches.Dims()
		if image != d {
			return fmt.Errorf("rff: k is a kernel of points of R^%d, want R^%d", image, d)
		}
		return pointsFit(k.K, patch)
	}
	for _, part := range parts {
		if err := pointsFit(part, d); err != nil {
			return err
		}
	}
	return nil
}
