package features

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// Centring subtracts the means of blocks of rows from their features and targets.
type Centring interface {
	Len() int
	Weight(i int) float64

	// Features and Targets centre len(c.Weights) rows that begin with row lo.
	Features(c *Centred, lo int)
	Targets(c *Centred, lo int)
}

type Centred struct {
	Dst     dense.Matrix[float64] // centred rows, and one more row
	Means   []float64             // of the rows
	Weights []float64             // of the rows
	First   int                   // index of a row with a positive weight
	Total   float64               // sum of the weights
	Root    float64               // factor of the last row of Dst
	Before  []float64             // means of earlier rows
}

type centring[T dense.Float] struct {
	s       *source[T]
	x, y    dense.Matrix[T]
	weights []T
}

func (s *source[T]) Centring(x, y dense.Matrix[T], weights []T) Centring {
	return &centring[T]{s, x, y, weights}
}

func (r *centring[T]) Len() int             { return r.x.Rows }
func (r *centring[T]) Weight(i int) float64 { return weight(r.weights, i) }

func (r *centring[T]) Features(c *Centred, lo int) {
	r.s.transform(r.x.RowRange(lo, lo+len(c.Weights)), func(features dense.Matrix[T]) { centre(c, features) })
}

func (r *centring[T]) Targets(c *Centred, lo int) { centre(c, r.y.RowRange(lo, lo+len(c.Weights))) }

// centre writes the weighted mean of the rows of x into c.Means, the rows minus this mean times
// √weight into c.Dst, and Root·(Means − Before) into the last row of c.Dst. centre sums differences
// from row c.First, so a large mean costs no accuracy. Rows of weight 0 may be infinite.
func centre[T dense.Float](c *Centred, x dense.Matrix[T]) {
	parallel.Rows(x.Cols, 128, func(lo, hi int) {
		means, last := c.Means[lo:hi], c.Dst.Row(c.Dst.Rows - 1)[lo:hi]
		clear(means)
		origin := last
		subtract(origin, x.Row(c.First)[lo:hi], means)
		for i, w := range c.Weights {
			if to := c.Dst.Row(i)[lo:hi]; w > 0 {
				subtract(to, x.Row(i)[lo:hi], origin)
				vecmath.AddScaled(means, to, w)
			} else {
				clear(to)
			}
		}
		vecmath.Scale(means, 1/c.Total)
		for i, w := range c.Weights {
			if to := c.Dst.Row(i)[lo:hi]; w > 0 {
				vecmath.AddScaled(to, means, -1)
				if w != 1 {
					vecmath.Scale(to, math.Sqrt(w))
				}
			}
		}
		vecmath.AddScaled(means, origin, 1)
		for j, v := range c.Before[lo:hi] {
			last[j] = c.Root * (means[j] - v)
		}
	})
}
