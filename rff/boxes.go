package rff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/law/mse"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Boxes has random features of the kernel kernels.Boxes, k = (κ + κ² + κ³)/3 for the weighted share
// κ of thresholds that do not separate two points. A threshold t of coordinate j has the sign
// s_t(x) = 1 if x_j > t and −1 if not, and features are products of up to three such signs:
//
//	k = (7 + 11ρ + 5ρ² + ρ³)/24,  ρ = 2κ − 1 = E[s_t(x)·s_t(y)],
//	φ(x) = 1/√24·[√7, √(11/m₁)·s_t(x) …, √(5/m₂)·s_t(x)·s_u(x) …, √(1/m₃)·s_t(x)·s_u(x)·s_v(x) …].
//
// To choose thresholds for m products of equally many signs, Draw divides the total weight of the
// thresholds into m equal shares, and draws one threshold from each share for the first sign of the
// products, in random order, and likewise for the second and the third sign. Estimates of the
// kernel by Boxes are unbiased, and feature vectors have the norm 1. The mean squared error of
// Boxes is 0.10/Features for two points that thresholds of a third of the weight separate. A point
// with a NaN or infinite coordinate has NaN in all features of Boxes. Transform of Boxes takes O(d
// + Features) operations for a point of R^d. Backward of Boxes writes 0, because features are
// constant between thresholds.
type Boxes struct {
	K        kernels.Boxes
	Features int // at least 4

	// Places are indices of thresholds in the matrix K.Thresholds, row by row: one for each feature
	// of one sign, two for each product of two, three for each of three. If Places is nil, Draw
	// draws the indices.
	Places []int
	Src    rand.Source `archive:"-"`
}

func (Boxes) perFrequency() int { return 0 }
func (s Boxes) String() string  { return fmt.Sprintf("Boxes(%v)", s.K) }

func (s *Boxes) place(counts [3]int) error {
	if s.Src == nil {
		return fmt.Errorf("rff: Src is nil, want a source for places")
	}
	ends, rng := weightEnds(s.K), rand.New(s.Src)
	for q, m := range counts {
		places := make([]int, m*(q+1))
		for sign := range q + 1 {
			for i, share := range rng.Perm(m) {
				point := min((float64(share)+rng.Float64())/float64(m), math.Nextafter(1, 0))
				places[i*(q+1)+sign] = sort.Search(len(ends)-1, func(t int) bool { return ends[t+1] > point })
			}
		}
		if q == 0 {
			slices.Sort(places)
		}
		s.Places = append(s.Places, places...)
	}
	return nil
}

func products[T dense.Float](k kernels.Boxes, features int) (counts [3]int, err error) {
	if err := kernels.Check(k); err != nil {
		return counts, fmt.Errorf("rff: %w", err)
	}
	if features < 4 {
		return counts, fmt.Errorf("rff: features = %d, want at least 4", features)
	}
	singles := min((features-1)/2, k.Thresholds.Rows*k.Thresholds.Cols)
	triples := max(1, (features-1-singles)/6)
	return [3]int{singles, features - 1 - singles - triples, triples}, size[T]("features", features)
}

// weightEnds returns cumulative sums of the weights, over the sum of all weights.
func weightEnds(k kernels.Boxes) []float64 {
	ends := make([]float64, 1+k.Weights.Rows*k.Weights.Cols)
	floats.CumSum(ends[1:], k.Weights.Clone().Data)
	total := ends[len(ends)-1]
	for i := range ends {
		ends[i] /= total
	}
	return ends
}

func boxes[T dense.Float](r Boxes, e engine[T]) (Map[T], error) {
	counts, err := products[T](r.K, r.Features)
	if err != nil {
		return nil, err
	}
	r.K.Thresholds, r.K.Weights, r.Places = r.K.Thresholds.Clone(), r.K.Weights.Clone(), slices.Clone(r.Places)
	if r.Places == nil {
		if err := r.place(counts); err != nil {
			return nil, err
		}
	}
	r.Src = nil
	e.recipe.Spec = r
	if want := counts[0] + 2*counts[1] + 3*counts[2]; len(r.Places) != want {
		return nil, fmt.Errorf("rff: %d places, want %d", len(r.Places), want)
	}
	d, each, ends := r.K.Thresholds.Rows, r.K.Thresholds.Cols, weightEnds(r.K)
	columns, thresholds := make([]int, len(r.Places)), make([]float64, len(r.Places))
	for i, at := range r.Places {
		if at < 0 || at >= d*each {
			return nil, fmt.Errorf("rff: places[%d] = %d, want 0 to %d", i, at, d*each-1)
		}
		columns[i] = at / each
		// −0 − x would have a sign bit at x = 0
		thresholds[i] = r.K.Thresholds.At(at/each, at%each) + 0
	}
	apart := func(x, y []float64) [][2]float64 {
		between := make([][2]float64, d)
		for j := range between {
			s, _ := slices.BinarySearch(r.K.Thresholds.Row(j), min(x[j], y[j]))
			t, _ := slices.BinarySearch(r.K.Thresholds.Row(j), max(x[j], y[j]))
			between[j] = [2]float64{ends[j*each+s], ends[j*each+t]}
		}
		return between
	}
	row := func(phi, x []T, _, _ int) {
		flat(phi, x, nil) // 0, or NaN if x is not finite
		phi[0] += T(math.Sqrt(7. / 24))
		phi, columns, thresholds := phi[1:], columns, thresholds
		for q, m := range counts {
			gain := T(math.Sqrt([3]float64{11, 5, 1}[q] / 24 / float64(m)))
			values := [2]T{-gain, gain}
			if q == 1 {
				values = [2]T{gain, -gain}
			}
			for i := range m {
				above := uint64(0)
				for s, j := range columns[:q+1] {
					// The sign bit of t − x is set if x > t.
					above ^= math.Float64bits(thresholds[s]-float64(x[j])) >> 63
				}
				phi[i] += values[above]
				columns, thresholds = columns[q+1:], thresholds[q+1:]
			}
			phi = phi[m:]
		}
	}
	e = e.of(d, r.Features)
	return newFeatures(e, r.K, mse.OfBoxes(counts, apart), row, rowwise(e, flat[T])), nil
}
