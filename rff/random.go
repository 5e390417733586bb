package rff

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
)

// Random returns an unbiased map of random features φ of the kernel k for points of R^d, about as
// many as the argument features says, with ‖φ(x)‖² = k(x, x):
//
//	kernels.Gaussian, Matern   Gaussian, Matern with frequencies of orf.GramSchmidt
//	kernels.Laplacian          Laplacian with frequencies of orf.Cauchy
//	kernels.DotProduct         Identity, with d features
//	kernels.Sum, Scaled        Sum; each term has the same share of the features
//	kernels.Pullback           Compose with the affine map
//
// Random returns an error for a type of kernel that Random has no features for, parameters of k out
// of range, a d that does not fit k, and fewer than 4 features for a term of a kernels.Sum.
func Random[T dense.Float](k kernels.Kernel, features, d int, src rand.Source) (Map[T], error) {
	if features < 4 {
		return nil, fmt.Errorf("rff: features = %d, want at least 4", features)
	}
	if src == nil {
		return nil, errors.New("rff: src is nil")
	}
	if err := kernels.Check(k); err != nil {
		return nil, fmt.Errorf("rff: %w", err)
	}
	if err := pointsFit(k, d); err != nil {
		return nil, err
	}
	var s Spec
	var frequencies orf.Ensemble = orf.GramSchmidt{}
	switch k := k.(type) {
	case kernels.Gaussian:
		s = Gaussian{LengthScale: cmp.Or(k.LengthScale, 1)}
	case kernels.Matern:
		s = Matern{Nu: cmp.Or(k.Nu, 1.5), LengthScale: cmp.Or(k.LengthScale, 1), Src: src}
	case kernels.Laplacian:
		s, frequencies = Laplacian{LengthScale: cmp.Or(k.LengthScale, 1)}, orf.Cauchy{}
	case kernels.DotProduct:
		return Draw[T](Identity{D: d}, nil)
	case kernels.Scaled:
		m, err := Random[T](k.K, features, d, src)
		if err != nil {
			return nil, err
		}
		return Sum([]Map[T]{m}, []float64{k.By})
	case kernels.Sum:
		var maps []Map[T]
		for _, term := range k {
			m, err := Random[T](term, features/len(k), d, src)
			if err != nil {
				return nil, err
			}
			maps = append(maps, m)
		}
		return Sum(maps, slices.Repeat([]float64{1}, len(maps)))
	case kernels.Pullback:
		then, err := Random[T](k.K, features, k.A.Rows, src)
		if err != nil {
			return nil, err
		}
		return Compose(Affine{A: k.A, Centre: k.Centre, Offset: k.Offset}, then)
	default:
		return nil, fmt.Errorf("rff: k is %v, which has no random features in Random", k)
	}
	w, err := orf.Draw[T](frequencies, features/2, d, src)
	if err != nil {
		return nil, err
	}
	return Draw(s, w)
}
