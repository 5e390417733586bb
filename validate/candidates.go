package validate

import (
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// SoftmaxCandidates returns the maps of this module for the softmax kernel exp(scale·xᵀy), each
// over frequencies of each kind: SoftmaxPositive (FAVOR+), SoftmaxHyperbolic, SoftmaxTrig,
// SoftmaxOptimal with OptimalA of the samples (FAVOR++), SADERF, SDERF and ADERF (FAVOR#), and
// SoftmaxHybrid with 8 signs.
func SoftmaxCandidates[T dense.Float](scale float64) []Candidate[T] {
	return candidates(
		plain("SoftmaxPositive", rff.SoftmaxPositive[T], scale),
		plain("SoftmaxHyperbolic", rff.SoftmaxHyperbolic[T], scale),
		plain("SoftmaxTrig", rff.SoftmaxTrig[T], scale),
		damped("SoftmaxOptimal", rff.SoftmaxOptimal[T], scale, scale),
		fitted("SADERF", rff.SADERF[T], scale),
		fitted("SDERF", rff.SDERF[T], scale),
		fitted("ADERF", rff.ADERF[T], scale),
		mapping[T]{"SoftmaxHybrid", func(w orf.Projection[T], _, _ dense.Matrix[T], src rand.Source) (rff.Map[T], error) {
			_, d := w.Shape()
			gate, err := orf.Draw[T](orf.IID{}, 8, d, src)
			if err != nil {
				return nil, err
			}
			return rff.SoftmaxHybrid(w, gate, scale)
		}},
	)
}

// GaussianCandidates returns the maps of this module for the Gaussian kernel exp(−‖x−y‖²/(2ℓ²)), ℓ
// = lengthScale, each over frequencies of each kind: Gaussian, GaussianPositive,
// GaussianHyperbolic, and GaussianOptimal with OptimalA of the samples.
func GaussianCandidates[T dense.Float](lengthScale float64) []Candidate[T] {
	return candidates(
		plain("Gaussian", rff.Gaussian[T], lengthScale),
		plain("GaussianPositive", rff.GaussianPositive[T], lengthScale),
		plain("GaussianHyperbolic", rff.GaussianHyperbolic[T], lengthScale),
		damped("GaussianOptimal", rff.GaussianOptimal[T], lengthScale, 1/(lengthScale*lengthScale)),
	)
}

// Centred returns the candidates with the means of the samples subtracted by rff.Centred: each map
// is made for the centred samples. The candidates must be of the softmax kernel, as those of
// SoftmaxCandidates are. The names end in ", centred". The centred maps are better where the
// samples have means far from zero:
//
//	all := validate.SoftmaxCandidates[float32](scale)
//	choice, err := validate.Choose(ctx, append(all, validate.Centred(all)...), q, k, options, src)
func Centred[T dense.Float](candidates []Candidate[T]) []Candidate[T] {
	all := make([]Candidate[T], len(candidates))
	for i, c := range candidates {
		all[i] = Candidate[T]{Name: c.Name + ", centred", Draw: centredDraw(c.Draw), Control: centredDraw(c.Control)}
	}
	return all
}

// centredDraw returns draw for centred samples; nil for a nil draw.
func centredDraw[T dense.Float](draw drawing[T]) drawing[T] {
	if draw == nil {
		return nil
	}
	return func(m int, x, y dense.Matrix[T], src rand.Source) (rff.Map[T], error) {
		x, b, err := rff.SubtractMean(x)
		if err != nil {
			return nil, err
		}
		y, c, err := rff.SubtractMean(y)
		if err != nil {
			return nil, err
		}
		phi, err := draw(m, x, y, src)
		if err != nil {
			return nil, err
		}
		return rff.Centred(phi, b, c)
	}
}

// drawing is the type of the functions of a Candidate.
type drawing[T dense.Float] = func(m int, x, y dense.Matrix[T], src rand.Source) (rff.Map[T], error)

// mapping makes maps over any projection.
type mapping[T dense.Float] struct {
	name string
	make func(w orf.Projection[T], x, y dense.Matrix[T], src rand.Source) (rff.Map[T], error)
}

// plain is a map that does not depend on the samples.
func plain[T dense.Float, M rff.Map[T]](name string, f func(w orf.Projection[T], scale float64) (M, error), scale float64) mapping[T] {
	return mapping[T]{name, func(w orf.Projection[T], _, _ dense.Matrix[T], _ rand.Source) (rff.Map[T], error) {
		return f(w, scale)
	}}
}

// damped is a map with the a of rff.OptimalA for the samples times √factor.
func damped[T dense.Float, M rff.Map[T]](name string, f func(w orf.Projection[T], scale, a float64) (M, error), scale, factor float64) mapping[T] {
	return mapping[T]{name, func(w orf.Projection[T], x, y dense.Matrix[T], _ rand.Source) (rff.Map[T], error) {
		a, err := rff.OptimalA(x, y, factor)
		if err != nil {
			return nil, err
		}
		return f(w, scale, a)
	}}
}

// fitted is a map that is fitted to the samples.
func fitted[T dense.Float, M rff.Map[T]](name string, f func(w orf.Projection[T], x, y dense.Matrix[T], scale float64) (M, error), scale float64) mapping[T] {
	return mapping[T]{name, func(w orf.Projection[T], x, y dense.Matrix[T], _ rand.Source) (rff.Map[T], error) {
		return f(w, x, y, scale)
	}}
}

// candidates returns all pairs of a map and a kind of frequencies. Quasi-Monte-Carlo points are
// left out: they help in few dimensions only and have no law.
func candidates[T dense.Float](maps ...mapping[T]) []Candidate[T] {
	var all []Candidate[T]
	for _, f := range maps {
		over := func(e orf.Ensemble) func(m int, x, y dense.Matrix[T], src rand.Source) (rff.Map[T], error) {
			return func(m int, x, y dense.Matrix[T], src rand.Source) (rff.Map[T], error) {
				w, err := orf.Draw[T](e, m, x.Cols, src)
				if err != nil {
					return nil, err
				}
				return f.make(w, x, y, src)
			}
		}
		for _, p := range []struct {
			name     string
			ensemble orf.Ensemble
		}{
			{"iid", orf.IID{}}, {"Gram–Schmidt", orf.GramSchmidt{}}, {"simplex", orf.Simplex{}}, {"Hadamard", orf.Hadamard{}},
		} {
			all = append(all, Candidate[T]{Name: f.name + " " + p.name, Draw: over(p.ensemble), Control: over(orf.IID{})})
		}
	}
	return all
}
