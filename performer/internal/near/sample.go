package near

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/nystroem"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// sampled is a sample of the keys of a call, and the memory to draw it. The zero value is no sample.
type sampled[T dense.Float] struct {
	rest           []T   // 1 − c_j of all keys: the weight that is left to the base
	at             []int // the keys with c_j > 0, ascending
	logs           []T   // log c_j of these keys
	points, values scratch.Buffer[T]

	probabilities []float64 // π_j
	weights       []float64 // w_j relative to the largest, after its logarithm
	pcg           rand.PCG
	rng           *rand.Rand

	// While weights are computed.
	e     *sums.Engine[T]
	k     dense.Matrix[T]
	scale float64
}

// toss draws the sample from the probabilities.
func (s *sampled[T]) toss(seed [2]uint64) {
	if s.rng == nil {
		s.rng = rand.New(&s.pcg)
	}
	s.pcg.Seed(seed[0], seed[1])
	s.rest = scratch.Resize(s.rest, len(s.probabilities))
	s.at, s.logs = s.at[:0], s.logs[:0]
	sum, interval, next := 0.0, 0.0, s.rng.Float64()
	for j, p := range s.probabilities {
		c := p
		if p > 0 && p < 1 {
			points := 0.0
			for sum += p; next < sum; next = interval + s.rng.Float64() {
				points++
				interval++
			}
			c = points / p
		}
		if s.rest[j] = T(1 - c); c > 0 {
			s.at, s.logs = append(s.at, j), append(s.logs, T(math.Log(c)))
		}
	}
}

// gather copies the keys of the sample and their values.
func (s *sampled[T]) gather(k, v dense.Matrix[T]) {
	s.points.Shape(len(s.at), k.Cols)
	s.values.Shape(len(s.at), v.Cols)
	points, values := s.points.Rows(len(s.at)), s.values.Rows(len(s.at))
	for i, j := range s.at {
		copy(points.Row(i), k.Row(j))
		copy(values.Row(i), v.Row(j))
	}
}

// addTo adds the sampled keys but those near ≤ j < end to the queries of a tile.
func (s *sampled[T]) addTo(t *tiles.Tile[T], near, end int) {
	n := len(s.at)
	if n == 0 {
		return
	}
	points, values := s.points.Rows(n), s.values.Rows(n)
	from, _ := slices.BinarySearch(s.at, near)
	to, _ := slices.BinarySearch(s.at, end)
	t.Add(points.RowRange(0, from), values.RowRange(0, from), s.logs[:from])
	t.Add(points.RowRange(to, n), values.RowRange(to, n), s.logs[to:])
}

// choose sets the probabilities from the weights, for n keys.
func (s *sampled[T]) choose(n int) {
	positive := 0
	for _, w := range s.weights {
		if w > 0 {
			positive++
		}
	}
	tau := math.Inf(1)
	if positive > n {
		tau = nystroem.Threshold(s.weights, n)
	}
	s.probabilities = scratch.Resize(s.probabilities, len(s.weights))
	for j, w := range s.weights {
		s.probabilities[j] = 0
		if w > 0 {
			s.probabilities[j] = min(tau*w, 1)
		}
	}
}

const (
	leastWeight = -40 // the logarithm of a weight relative to the largest
	weighedRows = 64  // keys whose weights are computed together
)

// errorBounds are features that bound the errors of the weights of keys.
type errorBounds[T dense.Float] interface {
	// KeyErrors sets logs to the logarithms of bounds of the errors of keys.
	KeyErrors(logs []float64, k dense.Matrix[T])

	// Exclude sets the logarithms of all keys of a call to −Inf that have exact weights.
	Exclude(logs []float64)
}

// weigh sets weights to the w_j of the keys, relative to the largest. A weight is zero if it is not a
// finite number and if the key has its exact weight by the features.
func (s *sampled[T]) weigh(e *sums.Engine[T], k dense.Matrix[T], scale float64) {
	s.e, s.k, s.scale = e, k, scale
	s.weights = scratch.Resize(s.weights, k.Rows)
	parallel.Do((k.Rows+weighedRows-1)/weighedRows, s)
	if bounds, ok := e.Features.(errorBounds[T]); ok {
		bounds.Exclude(s.weights)
	}
	s.e, s.k = nil, dense.Matrix[T]{}
	top := math.Inf(-1)
	for _, w := range s.weights {
		if w <= math.MaxFloat64 {
			top = max(top, w)
		}
	}
	for j, w := range s.weights {
		s.weights[j] = 0
		if w >= -math.MaxFloat64 && w <= top {
			s.weights[j] = math.Exp(max(w-top, leastWeight))
		}
	}
}

// Piece computes log w_j of some keys.
func (s *sampled[T]) Piece(i int) {
	lo := i * weighedRows
	hi := min(lo+weighedRows, s.k.Rows)
	if bounds, ok := s.e.Features.(errorBounds[T]); ok {
		bounds.KeyErrors(s.weights[lo:hi], s.k.RowRange(lo, hi))
	} else {
		s.byFeatures(s.weights[lo:hi], s.k.RowRange(lo, hi))
	}
}

// byFeatures sets logs to log w_j by features: w_j² = exp(s·‖k_j‖²) + |φ_Q(k_j)ᵀφ_K(k_j)|.
func (s *sampled[T]) byFeatures(logs []float64, k dense.Matrix[T]) {
	e := s.e
	ofKeys, ofQueries := e.Workspace(0), e.Workspace(0)
	keys, queries := ofKeys.Features.Rows(k.Rows), ofQueries.Features.Rows(k.Rows)
	e.Features.Keys(keys, k)
	e.Features.Queries(queries, k)
	for j := range logs {
		x, y := keys.Row(j), queries.Row(j)
		var log float64
		if e.Logs {
			vecmath.AddScaled(x, y, 1)
			if log = float64(vecmath.Peak(x)); !math.IsInf(log, -1) {
				vecmath.ExpMinus(x, x, T(log))
				log += math.Log(float64(vecmath.Sum(x)))
			}
		} else {
			log = math.Log(math.Abs(float64(vecmath.Dot(x, y))))
		}
		own := 2 * s.scale * vecmath.HalfSquaredNorm(k.Row(j))
		top := max(own, log)
		logs[j] = (top + math.Log(math.Exp(own-top)+math.Exp(log-top))) / 2
	}
	e.Release(ofKeys)
	e.Release(ofQueries)
}
