package rff

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/orf"
)

// Spec is the recipe of a feature map, a value of one of the types of this package such as
// Gaussian, for Draw. If a field of random numbers of a Spec, such as Matern.Gains, is nil, Draw
// draws the numbers, which Write writes, from the field Src, which must then not be nil.
type Spec interface {
	fmt.Stringer

	// perFrequency returns the number of features of a frequency, 0 for a map without frequencies.
	perFrequency() int
}

var specs = []any{
	ADERF{}, Affine{}, Angular{}, ArcCosine{}, DotProduct{}, ELU{}, Gaussian{},
	Identity{}, Laplacian{}, Matern{}, Quadratic{}, SADERF{}, SDERF{}, SoftmaxHyperbolic{}, SoftmaxOptimal{},
	SoftmaxPositive{}, SoftmaxTrig{},
}

// Draw makes the feature map of the recipe s over the frequencies w (m×d). The argument w of Draw
// is nil for a map without frequencies: Affine, ELU, Identity and Quadratic. Draw
// copies the slices of s, and draws all random numbers for the map before Draw returns.
//
// Draw returns an error for an s that is nil, a pointer or of another package, a field of s that is
// out of range or overflows T, a nil Src that is needed, and a w that is nil where s needs
// frequencies, too large for memory, or of a law that s cannot use.
func Draw[T dense.Float](s Spec, w orf.Projection[T]) (Map[T], error) {
	return build[T](drawn[T]{Spec: s, W: w, fresh: true})
}

type drawn[T dense.Float] struct {
	Spec     Spec
	W        orf.Projection[T]
	Ensemble orf.Ensemble // of SDERF: the law of the frequencies before they were multiplied by B
	Offsets  []T          // of damped maps: the logarithms of the features at 0

	// fresh says that Offsets are not known yet. They take m×d numbers, which a file that claims a
	// large d must not have its reader allocate.
	fresh bool `archive:"-"`
}

func draw[T dense.Float](r drawn[T]) (Map[T], error) {
	e, err := newEngine(r)
	if err != nil {
		return nil, err
	}
	switch s := r.Spec.(type) {
	case ADERF:
		return aderf(s, e)
	case Affine:
		return newAffine[T](s)
	case Angular:
		return angular(e)
	case ArcCosine:
		return arcCosine(e)
	case DotProduct:
		return dotProduct(e)
	case ELU:
		return elu(s, e)
	case Gaussian:
		return gaussian(s, e)
	case Identity:
		return identityMap(s, e)
	case Laplacian:
		return laplacian(s, e)
	case Matern:
		return matern(s, e)
	case Quadratic:
		return quadraticMap(s, e)
	case SADERF:
		return saderf(s, e)
	case SDERF:
		return sderf(s, e)
	case SoftmaxHyperbolic:
		return softmaxFeatures(s.Scale, mse.Hyperbolic, e)
	case SoftmaxOptimal:
		return softmaxOptimal(s.Scale, s.A, e)
	case SoftmaxPositive:
		return softmaxFeatures(s.Scale, mse.Positive, e)
	case SoftmaxTrig:
		return softmaxTrig(s, e)
	}
	panic("unreachable")
}
