package performer

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/pivot"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

const (
	landmarkPool    = 1024 // keys among which landmarks are chosen, at least
	poolPerLandmark = 16
	normGrain       = 1024 // keys whose norms are worth another processor
)

// landmarkCall is memory for one call that chooses landmarks: the landmarks, attention with their
// features, and what the choice needs.
type landmarkCall[T dense.Float] struct {
	a   Attention[T]
	set landmarkSet[T]

	pcg     rand.PCG
	rng     *rand.Rand
	k       dense.Matrix[T] // while norms are computed
	logs    []float64       // a_k of all keys, and the logarithms of factors
	weights []float64       // exp(a_k) times factors, relative to the largest
	pool    []int           // keys among which landmarks are chosen
	points  scratch.Buffer[T]
	columns gaussianColumns[T]
	chooser pivot.Chooser[T]

	// One element a key of the pool.
	poolWeights, ones, least []float64
}

// choose makes keys, more than r, the landmarks of a call.
func (c *landmarkCall[T]) choose(k dense.Matrix[T], seed [2]uint64) {
	r := c.a.m
	c.pcg.Seed(seed[0], seed[1])
	c.weigh(k)
	c.draw(max(landmarkPool, poolPerLandmark*r))
	n := len(c.pool)
	c.points.Shape(n, k.Cols)
	c.columns.points, c.columns.scale = c.points.Rows(n), T(c.set.scale)
	c.columns.halves = scratch.Resize(c.columns.halves, n)
	c.ones, c.least = scratch.Resize(c.ones, n), scratch.Resize(c.least, n)
	u := float64(unitRoundoff[T]())
	for i, j := range c.pool {
		point := c.columns.points.Row(i)
		c.set.centreKey(point, k.Row(j))
		half := c.set.scale * vecmath.HalfSquaredNorm(point)
		c.columns.halves[i] = T(half)
		// The exponent of an element is a difference of numbers of this size.
		c.ones[i], c.least[i] = 1, min(32*u*(1+half), 0.25)
	}
	pivots := c.chooser.Choose(&c.columns, r, c.ones, c.poolWeights, c.least, c.rng)

	points := c.set.prepare(r, k.Cols)
	for i, p := range pivots {
		copy(points.Row(i), c.columns.points.Row(p))
	}
	c.set.build(len(pivots))
	c.set.own = c.set.own[:0]
	for i, p := range pivots {
		if !math.IsInf(float64(c.set.offsets[i]), -1) {
			c.set.own = append(c.set.own, ownKey{key: c.pool[p], landmark: i})
		}
	}
	slices.SortFunc(c.set.own, func(a, b ownKey) int { return cmp.Compare(a.key, b.key) })
}

// weigh sets logs to a_k and the logarithm of its factor, and weights to their exponentials relative
// to the largest. A weight is never so small that it is zero, but for keys whose logarithm is not a
// finite number of T.
func (c *landmarkCall[T]) weigh(k dense.Matrix[T]) {
	n := k.Rows
	c.k = k
	c.logs, c.weights = scratch.Resize(c.logs, n), scratch.Resize(c.weights, n)
	parallel.Do((n+normGrain-1)/normGrain, (*norms[T])(c))
	c.k = dense.Matrix[T]{}
	top := math.Inf(-1)
	for _, a := range c.logs {
		if a == a {
			top = max(top, a)
		}
	}
	const least = -600
	for i, a := range c.logs {
		c.weights[i] = 0
		if a <= top {
			c.weights[i] = math.Exp(max(a-top, least))
		}
	}
}

// norms is the task of the norms of keys.
type norms[T dense.Float] landmarkCall[T]

func (c *norms[T]) Piece(i int) {
	lo, hi := i*normGrain, min((i+1)*normGrain, c.k.Rows)
	k := c.k.RowRange(lo, hi)
	if m := c.set.means; m != nil {
		s := m.spaces.Get()
		defer m.spaces.Put(s)
		k = s.less(k, m.key)
	}
	for j := range k.Rows {
		log := c.set.scale*vecmath.HalfSquaredNorm(k.Row(j)) + c.set.logFactor(k.Row(j))
		if rounded := T(log); rounded-rounded != 0 {
			log = math.NaN()
		}
		c.logs[lo+j] = log
	}
}

// draw makes at most size keys the pool. All keys of positive weight w are in the pool if they are
// so few. Otherwise key j is in the pool with the probability π_j = min(1, τ·w_j), and its weight
// in the pool is proportional to w_j/π_j: pivots then have nearly the probabilities that they have
// among all keys. Strata of neighbouring keys keep the number of keys near size. A key with π_j = 1
// is always in the pool: its error would be large in all rows.
func (c *landmarkCall[T]) draw(size int) {
	c.pool, c.poolWeights = c.pool[:0], c.poolWeights[:0]
	positive := 0
	for _, w := range c.weights {
		if w > 0 {
			positive++
		}
	}
	if positive <= size {
		for j, w := range c.weights {
			if w > 0 {
				c.pool, c.poolWeights = append(c.pool, j), append(c.poolWeights, w)
			}
		}
		return
	}
	tau := threshold(c.weights, size)
	sum, next := 0.0, c.rng.Float64()
	for j, w := range c.weights {
		if tau*w < 1 {
			if sum += tau * w; sum <= next {
				continue
			}
			for stratum := math.Floor(next); sum > next; {
				stratum++
				next = stratum + c.rng.Float64()
			}
		}
		c.pool, c.poolWeights = append(c.pool, j), append(c.poolWeights, max(1, tau*w))
	}
}

// threshold returns τ with Σ min(1, τ·w_j) = size, where more than size of the weights w_j are
// positive and none is negative.
func threshold(weights []float64, size int) float64 {
	tau := 0.0
	for {
		certain, rest := 0, 0.0
		for _, w := range weights {
			if tau*w >= 1 {
				certain++
			} else {
				rest += w
			}
		}
		next := float64(size-certain) / rest
		if !(next > tau) {
			return tau
		}
		tau = next
	}
}
