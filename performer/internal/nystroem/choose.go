package nystroem

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
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
)

const (
	// LeastPool is the least number of keys among which landmarks are chosen.
	LeastPool = 1024

	poolPerLandmark = 16
	normGrain       = 1024 // keys whose norms are worth another processor
)

// PoolOf returns the number of keys among which r landmarks are chosen.
func PoolOf(r int) int { return max(LeastPool, poolPerLandmark*r) }

// Choice is a Set of landmarks chosen among the keys of a call, with memory for the choice.
type Choice[T dense.Float] struct {
	Set[T]

	pcg     rand.PCG
	rng     *rand.Rand
	k       dense.Matrix[T] // during the computation of norms
	logs    []float64       // a_k of all keys, and the logarithms of factors
	weights []float64       // exp(a_k) times factors, relative to the largest
	pool    []int           // keys among which landmarks are chosen
	rows    scratch.Buffer[T]
	kernel  gaussianColumns[T]
	chooser pivot.Chooser[T]

	// One element for each key of pool.
	poolWeights, ones, least []float64
}

// Choose sets the landmarks to r of the keys, which are more than r.
func (c *Choice[T]) Choose(k dense.Matrix[T], r int, scale float64, means *Means[T], seed [2]uint64) {
	c.Scale, c.Means = scale, means
	if c.rng == nil {
		c.rng = rand.New(&c.pcg)
	}
	c.pcg.Seed(seed[0], seed[1])
	c.weigh(k)
	c.draw(PoolOf(r))
	n := len(c.pool)
	c.rows.Shape(n, k.Cols)
	c.kernel.points, c.kernel.scale = c.rows.Rows(n), T(c.Scale)
	c.kernel.halves = scratch.Resize(c.kernel.halves, n)
	c.ones, c.least = scratch.Resize(c.ones, n), scratch.Resize(c.least, n)
	u := float64(logscale.Roundoff[T]())
	for i, j := range c.pool {
		point := c.kernel.points.Row(i)
		c.centreKey(point, k.Row(j))
		half := c.Scale * vecmath.HalfSquaredNorm(point)
		c.kernel.halves[i] = T(half)
		// The exponent of an element is a difference of numbers of this size.
		c.ones[i], c.least[i] = 1, min(32*u*(1+half), 0.25)
	}
	pivots := c.chooser.Choose(&c.kernel, r, c.ones, c.poolWeights, c.least, c.rng)

	points := c.prepare(r, k.Cols)
	for i, p := range pivots {
		copy(points.Row(i), c.kernel.points.Row(p))
	}
	c.build(len(pivots))
	c.own = c.own[:0]
	for i, p := range pivots {
		if !math.IsInf(float64(c.offsets[i]), -1) {
			c.own = append(c.own, own{key: c.pool[p], landmark: i})
		}
	}
	slices.SortFunc(c.own, func(a, b own) int { return cmp.Compare(a.key, b.key) })
}

// Chosen returns the keys that are landmarks, in ascending order.
func (c *Choice[T]) Chosen() []int {
	keys := make([]int, len(c.own))
	for i, o := range c.own {
		keys[i] = o.key
	}
	return keys
}

// weigh sets logs to a_k plus the logarithm of the factor of key k, and weights to the exponentials
// relative to the largest. A weight is zero only for keys whose logarithm is not a finite number of
// T.
func (c *Choice[T]) weigh(k dense.Matrix[T]) {
	n := k.Rows
	c.k = k
	c.logs, c.weights = scratch.Resize(c.logs, n), scratch.Resize(c.weights, n)
	parallel.Do((n+normGrain-1)/normGrain, c)
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

// Piece computes the norms of some keys.
func (c *Choice[T]) Piece(i int) {
	lo, hi := i*normGrain, min((i+1)*normGrain, c.k.Rows)
	k := c.k.RowRange(lo, hi)
	if m := c.Means; m != nil {
		s := m.spaces.Get()
		defer m.spaces.Put(s)
		k = less(s, k, m.Key)
	}
	for j := range k.Rows {
		log := c.Scale*vecmath.HalfSquaredNorm(k.Row(j)) + c.logFactor(k.Row(j))
		if rounded := T(log); rounded-rounded != 0 {
			log = math.NaN()
		}
		c.logs[lo+j] = log
	}
}

// draw draws at most size keys into pool. If at most size keys have a positive weight w, pool has
// all of these. Otherwise key j is in pool with the probability π_j = min(1, τ·w_j), and its weight
// in pool is proportional to w_j/π_j: pivots then have nearly the probabilities that they have
// among all keys. Strata of neighbouring keys keep the number of keys near size. A key with π_j = 1
// is always in pool, because its error would be large in all rows.
func (c *Choice[T]) draw(size int) {
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
