package kmeans

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/interrupt"
	"github.com/seed-feabd252/randfeat/internal/compute/matmul"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
)

type clustering struct {
	ctx             context.Context
	progress        func(iterations int) // nil for none
	points, centres dense.Matrix[float64]
	weights         []float64 // of the points
	labels          []int     // labels of the points, nil before the first assignment
	// numbers of the points that are the first centres, nil if centres are given
	seeds      []int
	iterate    int // iterations of a start at most
	iterations int // iterations that moved centres
	passed     int // iterations of all starts
	inertia    float64
}

// If sample is above 0, run finds the centres for that number of drawn points.
func (s *clustering) run(k, sample, starts int, src rand.Source) error {
	var rng *rand.Rand
	if src != nil {
		rng = rand.New(src)
	}
	all, weights := s.points, s.weights
	var drawn []int
	if sample > 0 && sample < all.Rows {
		for _, i := range rng.Perm(all.Rows) {
			if weights[i] > 0 && len(drawn) < sample {
				drawn = append(drawn, i)
			}
		}
		s.points, s.weights = layout.Rows(all, drawn), make([]float64, sample)
		for i, at := range drawn {
			s.weights[i] = weights[at]
		}
	}
	var seeds [][]int // of each start
	for len(seeds) < starts && s.centres.Rows == 0 {
		own, err := s.draw(k, rng)
		if err != nil {
			return err
		}
		seeds = append(seeds, own)
	}
	mean, err := meanOf(s.ctx, all, weights)
	if err != nil {
		return err
	}
	for _, x := range [...]dense.Matrix[float64]{all, s.centres} {
		if err := shift(s.ctx, x, mean, -1); err != nil {
			return err
		}
	}
	if drawn != nil {
		if err := shift(s.ctx, s.points, mean, -1); err != nil {
			return err
		}
	}
	if err := s.best(seeds); err != nil {
		return err
	}
	if drawn != nil {
		for i, at := range s.seeds {
			s.seeds[i] = drawn[at]
		}
		s.points, s.weights, s.labels = all, weights, nil
	}
	if drawn != nil || len(seeds) < 2 { // otherwise best has measured all points
		if err := s.measure(); err != nil {
			return err
		}
	}
	return shift(s.ctx, s.centres, mean, 1)
}

func (s *clustering) best(seeds [][]int) (err error) {
	if seeds == nil {
		s.iterations, err = s.lloyd()
		return err
	}
	least := *s
	for i, own := range seeds {
		s.seeds, s.centres, s.labels = own, layout.Rows(s.points, own), nil
		if s.iterations, err = s.lloyd(); err != nil {
			return err
		}
		if len(seeds) > 1 {
			if err := s.measure(); err != nil {
				return err
			}
		}
		if i == 0 || s.inertia < least.inertia {
			least = *s
		}
	}
	*s = least
	return nil
}

func (s *clustering) measure() error {
	if _, err := s.assign(); err != nil {
		return err
	}
	s.inertia = 0
	for lo, hi := range interrupt.Ranges(s.ctx, s.points.Rows, passRows) {
		for i := lo; i < hi; i++ {
			s.inertia += s.weights[i] * vecmath.SquaredDistance(s.points.Row(i), s.centres.Row(s.labels[i]))
		}
	}
	return s.ctx.Err()
}

func meanOf(ctx context.Context, x dense.Matrix[float64], weights []float64) ([]float64, error) {
	mean, total := make([]float64, x.Cols), vecmath.Sum(weights)
	for lo, hi := range interrupt.Ranges(ctx, x.Rows, passRows) {
		for i := lo; i < hi; i++ {
			vecmath.AddScaled(mean, x.Row(i), weights[i]/total)
		}
	}
	return mean, ctx.Err()
}

// shift adds a·v to every row. Distances are computed from inner products, which are inaccurate for
// rows with a large common mean.
func shift(ctx context.Context, x dense.Matrix[float64], v []float64, a float64) error {
	return interrupt.Rows(ctx, x.Rows, passRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			vecmath.AddScaled(x.Row(i), v, a)
		}
	})
}

// draw draws k points. The probability of a point is proportional to its weight times its squared
// distance from the nearest earlier point, or to its weight if all distances are 0.
func (s *clustering) draw(k int, rng *rand.Rand) ([]int, error) {
	x := s.points
	distances, shares := slices.Repeat([]float64{math.Inf(1)}, x.Rows), make([]float64, x.Rows)
	var seeds []int
	equal := slices.Min(s.weights) == slices.Max(s.weights)
	if equal {
		seeds = append(seeds, rng.IntN(x.Rows))
	} else {
		seeds = append(seeds, proportional(s.weights, rng))
	}
	for len(seeds) < k {
		last := x.Row(seeds[len(seeds)-1])
		err := interrupt.Rows(s.ctx, x.Rows, passRows, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				distances[i] = min(distances[i], vecmath.SquaredDistance(x.Row(i), last))
				shares[i] = s.weights[i] * distances[i]
			}
		})
		if err != nil {
			return nil, err
		}
		if !equal && slices.Max(shares) == 0 {
			copy(shares, s.weights)
		}
		seeds = append(seeds, proportional(shares, rng))
	}
	return seeds, nil
}

// proportional draws an index with the given weights, or with equal weights if all are 0. Unlike
// distuv.Categorical, proportional never draws another index of weight 0.
func proportional(weights []float64, rng *rand.Rand) int {
	u := rng.Float64() * vecmath.Sum(weights)
	at := -1
	for i, w := range weights {
		if w > 0 {
			at = i
			if u -= w; u < 0 {
				break
			}
		}
	}
	if at < 0 {
		return rng.IntN(len(weights))
	}
	return at
}

func (s *clustering) lloyd() (int, error) {
	sums, totals := dense.New[float64](s.centres.Rows, s.centres.Cols), make([]float64, s.centres.Rows)
	for iteration := range s.iterate {
		if changed, err := s.assign(); err != nil || !changed {
			return iteration, err
		}
		s.fill()
		clear(sums.Data)
		clear(totals)
		for lo, hi := range interrupt.Ranges(s.ctx, len(s.labels), passRows) {
			for i, c := range s.labels[lo:hi] {
				w := s.weights[lo+i]
				vecmath.AddScaled(sums.Row(c), s.points.Row(lo+i), w)
				totals[c] += w
			}
		}
		for c, w := range totals {
			if w > 0 {
				copy(s.centres.Row(c), sums.Row(c))
				vecmath.Scale(s.centres.Row(c), 1/w)
			}
		}
		if s.passed++; s.progress != nil {
			s.progress(s.passed)
		}
	}
	return s.iterate, nil
}

func (s *clustering) assign() (bool, error) {
	x, centres := s.points, s.centres
	if s.labels == nil {
		s.labels = slices.Repeat([]int{-1}, x.Rows)
	}
	// ‖x − c‖² = ‖x‖² − 2·(xᵀc − ‖c‖²/2)
	half := make([]float64, centres.Rows)
	for c := range half {
		half[c] = vecmath.HalfSquaredNorm(centres.Row(c))
	}
	const rows = 256
	changed := make([]bool, (x.Rows+rows-1)/rows)
	err := interrupt.Rows(s.ctx, x.Rows, rows, func(lo, hi int) {
		g := dense.New[float64](hi-lo, centres.Rows)
		matmul.MulT(1, x.RowRange(lo, hi), centres, 0, g)
		for i := lo; i < hi; i++ {
			best, at := math.Inf(-1), 0
			for c, v := range g.Row(i - lo) {
				if v -= half[c]; v > best {
					best, at = v, c
				}
			}
			if s.labels[i] != at {
				s.labels[i], changed[lo/rows] = at, true
			}
		}
	})
	return slices.Contains(changed, true), err
}

// fill labels for each centre without points of positive weight the point with the largest weight
// times squared distance from its own centre, which must exceed rounding, √ε of its length.
func (s *clustering) fill() {
	counts := make([]int, s.centres.Rows)
	for i, c := range s.labels {
		if s.weights[i] > 0 {
			counts[c]++
		}
	}
	if !slices.Contains(counts, 0) {
		return
	}
	shares := make([]float64, len(s.labels))
	_ = interrupt.Rows(s.ctx, len(s.labels), passRows, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			x := s.points.Row(i)
			if q := vecmath.SquaredDistance(x, s.centres.Row(s.labels[i])); q > 0x1p-51*vecmath.HalfSquaredNorm(x) {
				shares[i] = s.weights[i] * q
			}
		}
	})
	for c, n := range counts {
		if n > 0 || s.ctx.Err() != nil {
			continue
		}
		at := -1
		for i, q := range shares {
			if q > 0 && counts[s.labels[i]] > 1 && (at < 0 || q > shares[at]) {
				at = i
			}
		}
		if at < 0 {
			return
		}
		counts[s.labels[at]]--
		s.labels[at], shares[at] = c, 0
		counts[c] = 1
	}
}
