package performer

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/triangular"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
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
	a       *Attention[T]
	k       dense.Matrix[T]
	scale   float64
	halves  []float64 // s·‖z‖²/2 of landmarks
	weigher pool.Of[weigher[T]]
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

// left returns the weights that the sample leaves to the base, of the keys lo ≤ j < hi, or nil.
func (s *sampled[T]) left(lo, hi int) []T {
	if s.rest == nil {
		return nil
	}
	return s.rest[lo:hi]
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
		tau = threshold(s.weights, n)
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
	leastResidual = 0x1p-32 // of κ(k, k)
	leastWeight   = -40     // the logarithm of a weight relative to the largest
	weighedRows   = 64      // keys whose weights are computed together
)

// weigh sets weights to the w_j of the keys, relative to the largest. A weight is zero if it is not a
// finite number and if the key is a landmark.
func (s *sampled[T]) weigh(a *Attention[T], k dense.Matrix[T], scale float64) {
	s.a, s.k, s.scale = a, k, scale
	s.weights = scratch.Resize(s.weights, k.Rows)
	if set := a.landmarks; set != nil {
		s.halves = scratch.Resize(s.halves, a.m)
		for i, offset := range set.offsets {
			if s.halves[i] = 0; !math.IsInf(float64(offset), -1) {
				s.halves[i] = scale * vecmath.HalfSquaredNorm(set.wide.Rows(a.m).Row(i))
			}
		}
	}
	parallel.Do((k.Rows+weighedRows-1)/weighedRows, (*weighing[T])(s))
	if a.landmarks != nil {
		for _, o := range a.landmarks.own {
			s.weights[o.key] = math.Inf(-1)
		}
	}
	s.a, s.k = nil, dense.Matrix[T]{}
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

// weigher is the memory of one goroutine that computes weights.
type weigher[T dense.Float] struct {
	factor        triangular.Factor[float64] // that of the landmarks, with memory of its own
	keys, columns scratch.Buffer[float64]    // weighedRows×d, r×weighedRows
	halves, spans []float64                  // one a key
	point         []T                        // d
	queries       scratch.Buffer[T]          // weighedRows×m
}

// weighing is the task of computing log w_j of the keys.
type weighing[T dense.Float] sampled[T]

func (s *weighing[T]) Piece(i int) {
	lo := i * weighedRows
	hi := min(lo+weighedRows, s.k.Rows)
	w := s.weigher.Get()
	w.halves = scratch.Resize(w.halves, hi-lo)
	if logs := s.weights[lo:hi]; s.a.landmarks != nil {
		s.byLandmarks(w, logs, s.k.RowRange(lo, hi))
	} else {
		s.byFeatures(w, logs, s.k.RowRange(lo, hi))
	}
	s.weigher.Put(w)
}

// byLandmarks sets logs to log w_j by landmarks: with a_j = s·‖k_j‖²/2 and the factor C of G = CCᵀ,
// w_j² = exp(2·a_j)·(1 − ‖C⁻¹·g_j‖²), g_j = exp(−s·‖z − k_j‖²/2). Keys that are centred have the
// squares of their factors too.
func (s *weighing[T]) byLandmarks(w *weigher[T], logs []float64, k dense.Matrix[T]) {
	set := s.a.landmarks
	w.factor.Use(&set.factor)
	w.keys.Shape(weighedRows, k.Cols)
	w.columns.Shape(s.a.m, weighedRows)
	w.point = scratch.Resize(w.point, k.Cols)
	keys, columns := w.keys.Rows(k.Rows), w.columns.Rows(s.a.m).ColRange(0, k.Rows)
	for j := range k.Rows {
		set.centreKey(w.point, k.Row(j))
		for c, x := range w.point {
			keys.Row(j)[c] = float64(x)
		}
		w.halves[j] = s.scale * vecmath.HalfSquaredNorm(w.point)
		logs[j] = w.halves[j] + set.logFactor(w.point)
	}
	matmul.MulT(s.scale, set.wide.Rows(s.a.m), keys, 0, columns)
	vecmath.Scale(w.halves, -1)
	for i, offset := range set.offsets {
		row := columns.Row(i)
		if math.IsInf(float64(offset), -1) {
			clear(row)
			continue
		}
		vecmath.AffineEach(row, 1, w.halves, -s.halves[i])
		for j, x := range row {
			row[j] = min(x, 0) // rounding may be of any size
		}
		vecmath.Exp(row, row)
	}
	w.factor.Solve(columns)
	w.spans = scratch.Resize(w.spans, k.Rows)
	clear(w.spans)
	for i := range columns.Rows {
		for j, x := range columns.Row(i) {
			w.spans[j] += x * x
		}
	}
	for j, span := range w.spans {
		// The exponents of columns are differences of numbers of the size of a_j.
		least := max(leastResidual, -32*unitRoundoff[float64]()*w.halves[j])
		logs[j] += math.Log(max(1-span, least)) / 2
	}
}

// byFeatures sets logs to log w_j by features: w_j² = exp(s·‖k_j‖²) + |φ_Q(k_j)ᵀφ_K(k_j)|.
func (s *weighing[T]) byFeatures(w *weigher[T], logs []float64, k dense.Matrix[T]) {
	w.queries.Shape(weighedRows, s.a.m)
	space := s.a.workspace(0)
	keys, queries := space.features.Rows(k.Rows), w.queries.Rows(k.Rows)
	s.a.mapKeys(keys, k)
	s.a.mapQueries(queries, k)
	for j := range logs {
		x, y := keys.Row(j), queries.Row(j)
		var log float64
		if s.a.logs {
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
	s.a.workspaces.Put(space)
}
