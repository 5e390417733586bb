package ridge

import (
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
)

// sample has all rows of a weight above 0, or of too many the rows with the smallest random
// numbers. Rows leave the largest class, so that a rare class keeps all of its rows.
type sample[T dense.Float] struct {
	x       []T
	labels  []int
	weights []float64
	drawn   []float64
	rng     *rand.Rand

	// Of each class.
	limits []float64 // numbers of later rows of the sample are below
	counts []int     // of rows of the sample
	totals []float64 // weights of all rows
}

func newSample[T dense.Float](classes int) *sample[T] {
	return &sample[T]{
		rng:    rand.New(rand.NewPCG(0x73616d706c65, 0x636c6173736573)),
		limits: slices.Repeat([]float64{1}, classes), counts: make([]int, classes), totals: make([]float64, classes),
	}
}

func (s *sample[T]) add(x []T, c int, weight float64) {
	s.totals[c] += weight
	number := s.rng.Float64()
	if number >= s.limits[c] {
		return
	}
	s.x, s.labels, s.weights, s.drawn = append(s.x, x...), append(s.labels, c), append(s.weights, weight), append(s.drawn, number)
	s.counts[c]++
	if most := slices.Max(s.counts); len(s.labels) > sampledRows && most > 1 {
		s.remove(slices.Index(s.counts, most))
	}
}

func (s *sample[T]) remove(c int) {
	at, last, d := -1, len(s.labels)-1, len(s.x)/len(s.labels)
	for i, l := range s.labels {
		if l == c && (at < 0 || s.drawn[i] > s.drawn[at]) {
			at = i
		}
	}
	s.counts[c]--
	s.limits[c] = s.drawn[at]
	copy(s.x[at*d:(at+1)*d], s.x[last*d:])
	s.labels[at], s.weights[at], s.drawn[at] = s.labels[last], s.weights[last], s.drawn[last]
	s.x, s.labels, s.weights, s.drawn = s.x[:last*d], s.labels[:last], s.weights[:last], s.drawn[:last]
}

func (s *sample[T]) losses(source features.Source[T], mean []float64) *losses {
	n, classes := len(s.labels), len(s.totals)
	l := &losses{
		phi: dense.New[float64](n, len(mean)), labels: s.labels, weights: s.weights,
		shares: slices.Clone(s.weights), scores: dense.New[float64](n, classes),
	}
	source.Centred(l.phi, dense.Of(n, len(s.x)/n, s.x), mean)
	sampled := make([]float64, classes)
	for i, c := range s.labels {
		sampled[c] += s.weights[i]
	}
	for i, c := range s.labels {
		l.shares[i] *= s.totals[c] / sampled[c]
	}
	floats.Scale(1/slices.Max(l.shares), l.shares) // squares do not overflow
	floats.Scale(floats.Sum(l.shares)/floats.Dot(l.shares, l.shares), l.shares)
	return l
}
