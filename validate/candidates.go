package validate

import (
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// SoftmaxCandidates returns the maps of this module for the softmax kernel
// exp(scale·xᵀy), each over frequencies of each kind: SoftmaxPositive (FAVOR+),
// SoftmaxHyperbolic, SoftmaxTrig, SoftmaxOptimal with OptimalA of the samples (FAVOR++),
// SADERF, SDERF and ADERF (FAVOR#), and SoftmaxHybrid with 8 signs.
func SoftmaxCandidates[T dense.Float](scale float64) []Candidate[T] {
	return candidates([]mapping[T]{
		{"SoftmaxPositive", func(w orf.Projection[T], _, _ dense.Matrix[T], _ rand.Source) (rff.Map[T], error) {
			return rff.SoftmaxPositive(w, scale)
		}},
		{"SoftmaxHyperbolic", func(w orf.Projection[T], _, _ dense.Matrix[T], _ rand.Source) (rff.Map[T], error) {
			return rff.SoftmaxHyperbolic(w, scale)
		}},
		{"SoftmaxTrig", func(w orf.Projection[T], _, _ dense.Matrix[T], _ rand.Source) (rff.Map[T], error) {
			return rff.SoftmaxTrig(w, scale)
		}},
		{"SoftmaxOptimal", func(w orf.Projection[T], x, y dense.Matrix[T], _ rand.Source) (rff.Map[T], error) {
			a, err := rff.OptimalA(x, y, scale)
			if err != nil {
				return nil, err
			}
			return rff.SoftmaxOptimal(w, scale, a)
		}},
		{"SADERF", func(w orf.Projection[T], x, y dense.Matrix[T], _ rand.Source) (rff.Map[T], error) {
			return rff.SADERF(w, x, y, scale)
		}},
		{"SDERF", func(w orf.Projection[T], x, y dense.Matrix[T], _ rand.Source) (rff.Map[T], error) {
			return rff.SDERF(w, x, y, scale)
		}},
		{"ADERF", func(w orf.Projection[T], x, y dense.Matrix[T], _ rand.Source) (rff.Map[T], error) {
			return rff.ADERF(w, x, y, scale)
		}},
		{"SoftmaxHybrid", func(w orf.Projection[T], _, _ dense.Matrix[T], src rand.Source) (rff.Map[T], error) {
			_, d := w.Dims()
			gate, err := orf.IID[T](8, d, src)
			if err != nil {
				return nil, err
			}
			return rff.SoftmaxHybrid(w, gate, scale)
		}},
	})
}

// GaussianCandidates returns the maps of this module for the Gaussian kernel
// exp(−‖x−y‖²/(2ℓ²)), ℓ = lengthScale, each over frequencies of each kind: Gaussian,
// GaussianPositive, GaussianHyperbolic, and GaussianOptimal with OptimalA of the samples.
func GaussianCandidates[T dense.Float](lengthScale float64) []Candidate[T] {
	return candidates([]mapping[T]{
		{"Gaussian", func(w orf.Projection[T], _, _ dense.Matrix[T], _ rand.Source) (rff.Map[T], error) {
			return rff.Gaussian(w, lengthScale)
		}},
		{"GaussianPositive", func(w orf.Projection[T], _, _ dense.Matrix[T], _ rand.Source) (rff.Map[T], error) {
			return rff.GaussianPositive(w, lengthScale)
		}},
		{"GaussianHyperbolic", func(w orf.Projection[T], _, _ dense.Matrix[T], _ rand.Source) (rff.Map[T], error) {
			return rff.GaussianHyperbolic(w, lengthScale)
		}},
		{"GaussianOptimal", func(w orf.Projection[T], x, y dense.Matrix[T], _ rand.Source) (rff.Map[T], error) {
			a, err := rff.OptimalA(x, y, 1/(lengthScale*lengthScale))
			if err != nil {
				return nil, err
			}
			return rff.GaussianOptimal(w, lengthScale, a)
		}},
	})
}

// mapping makes maps over any projection.
type mapping[T dense.Float] struct {
	name string
	make func(w orf.Projection[T], x, y dense.Matrix[T], src rand.Source) (rff.Map[T], error)
}

// candidates returns all pairs of a map and a kind of frequencies. Quasi-Monte-Carlo
// points, which help in few dimensions only and have no law, are not among them.
func candidates[T dense.Float](maps []mapping[T]) []Candidate[T] {
	type constructor = func(m, d int, src rand.Source, opts ...orf.Option) (orf.Projection[T], error)
	var all []Candidate[T]
	for _, f := range maps {
		over := func(frequencies constructor) func(m int, x, y dense.Matrix[T], src rand.Source) (rff.Map[T], error) {
			return func(m int, x, y dense.Matrix[T], src rand.Source) (rff.Map[T], error) {
				w, err := frequencies(m, x.Cols, src)
				if err != nil {
					return nil, err
				}
				return f.make(w, x, y, src)
			}
		}
		for _, p := range []struct {
			name string
			draw constructor
		}{
			{"iid", orf.IID[T]}, {"Gram–Schmidt", orf.GramSchmidt[T]}, {"simplex", orf.Simplex[T]}, {"Hadamard", orf.Hadamard[T]},
		} {
			all = append(all, Candidate[T]{Name: f.name + " " + p.name, Draw: over(p.draw), Control: over(orf.IID[T])})
		}
	}
	return all
}
