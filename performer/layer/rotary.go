package layer

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/parallel"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
)

// RotaryOptions are the options of rotary positions (RoPE). The zero RotaryOptions rotates all d
// coordinates of a head, in pairs of coordinates i and i + d/2, with base 10000 and no scaling.
type RotaryOptions struct {
	// The first Dim coordinates of a head rotate; Dim is even. A zero Dim stands for all
	// coordinates.
	Dim int

	// Pair i of coordinates rotates by p·Base^(−2i/Dim) at position p. A zero Base stands for
	// 10000. The Base of a model times f^(Dim/(Dim−2)) divides the smallest angle by f and keeps
	// the largest, which is NTK-aware scaling by the factor f ≥ 1 [bloc97 2023].
	Base float64

	// With Neighbours, coordinates 2i and 2i + 1 of a head rotate together, as in [Su et al. 2021],
	// GPT-J and Meta's files of Llama. Without Neighbours, coordinates i and i + Dim/2 of a head
	// rotate together, as in Hugging Face's files of Llama, Mistral, Qwen and GPT-NeoX.
	Neighbours bool

	// Axes[i] is the axis by whose position pair i of coordinates rotates, for tokens with a
	// position on each of several axes, such as time, row and column in Qwen2-VL, whose Axes are 16
	// zeros, 24 ones and 24 twos. Nil Axes stand for one axis.
	Axes []int

	// Scaling changes rotary angles for contexts longer than in training. A nil Scaling leaves the
	// angles as they are.
	Scaling RotaryScaling
}

// rotary rotates pair i of the coordinates of a query or key at position p by the angle p·ω_i [Su
// et al. 2021]: without scaling (x, y) ↦ (x·cos pω_i − y·sin pω_i, x·sin pω_i + y·cos pω_i), ω_i =
// Base^(−2i/Dim). A rotary does not change after construction, and goroutines may share it.
type rotary[T dense.Float] struct {
	head       int       // coordinates of a head
	omega      []float64 // ω_i
	axes       []int     // axis of each pair, nil for one axis
	per        int       // positions of a token, the number of axes
	length     float64   // factor of rotated coordinates
	neighbours bool
}

func newRotary[T dense.Float](d int, opts RotaryOptions) (*rotary[T], error) {
	dim, base := cmp.Or(opts.Dim, d), cmp.Or(opts.Base, 10000)
	switch {
	case d < 1:
		return nil, fmt.Errorf("layer: heads of %d coordinates, want at least 1", d)
	case dim < 0 || dim > d || dim%2 != 0:
		return nil, fmt.Errorf("layer: rotary positions turn %d of %d coordinates, want an even number of at most %d", dim, d, d)
	case !(base > 1) || math.IsInf(base, 0):
		return nil, fmt.Errorf("layer: the base of rotary positions is %v, want a finite number above 1", base)
	}
	if err := limit.Memory[float64](dim); err != nil {
		return nil, fmt.Errorf("layer: rotary positions turn %d coordinates: %w", dim, err)
	}
	r := &rotary[T]{
		head: d, omega: make([]float64, dim/2), axes: slices.Clone(opts.Axes), per: 1, length: 1, neighbours: opts.Neighbours,
	}
	if opts.Axes != nil && len(opts.Axes) != dim/2 {
		return nil, fmt.Errorf("layer: %d Axes for %d pairs of coordinates, want one for each pair", len(opts.Axes), dim/2)
	}
	for i, axis := range opts.Axes {
		if axis < 0 || axis >= maxAxes {
			return nil, fmt.Errorf("layer: Axes[%d] = %d, want an axis of 0 to %d", i, axis, maxAxes-1)
		}
		r.per = max(r.per, axis+1)
	}
	for i := range r.omega {
		r.omega[i] = math.Pow(base, -2*float64(i)/float64(dim))
	}
	if opts.Scaling != nil {
		factor, err := opts.Scaling.scale(r.omega, base)
		if err != nil {
			return nil, fmt.Errorf("layer: %w", err)
		}
		r.length = factor
	}
	return r, nil
}

const maxAxes = 16

// Angles returns the sines and cosines of the rotary angles of tokens at the given positions, in
// the memory of dst if dst has enough. With RotaryOptions.Axes of n axes each token has n positions
// that follow one another. Angles computes angles in float64, with an error of 1e-16 times the
// angle, and panics if the number of positions is no multiple of the number of axes.
func (r *rotary[T]) Angles(dst angles[T], positions []int) angles[T] {
	per := r.per
	if len(positions)%per != 0 {
		panic(fmt.Sprintf("layer: %d rotary positions, want %d for each token", len(positions), per))
	}
	n, tokens := len(r.omega), len(positions)/per
	if cap(dst.values) < 2*n*tokens {
		dst.values = make([]T, 2*n*tokens)
	}
	dst.values = dst.values[:2*n*tokens]
	dst.tokens, dst.head, dst.pairs, dst.neighbours = tokens, r.head, n, r.neighbours
	for t := range tokens {
		cos, sin := dst.token(t)
		for i, w := range r.omega {
			axis := 0
			if r.axes != nil {
				axis = r.axes[i]
			}
			s, c := math.Sincos(float64(positions[t*per+axis]) * w)
			cos[i], sin[i] = T(c*r.length), T(s*r.length)
		}
	}
	return dst
}

type angles[T dense.Float] struct {
	values              []T // of each token, the cosines and then the sines
	tokens, head, pairs int
	neighbours          bool
}

func (a angles[T]) token(t int) (cos, sin []T) {
	row := a.values[2*a.pairs*t:][:2*a.pairs]
	return row[:a.pairs], row[a.pairs:]
}

// Turn rotates the coordinates of all heads of the rows of x, one token per row, by rotary angles,
// in place. Turn panics if x.Check panics, or if x does not fit the angles.
func (a angles[T]) Turn(x dense.Matrix[T]) { a.turn(x, 1) }

func (a angles[T]) turn(x dense.Matrix[T], sign T) {
	x.Check()
	if x.Rows != a.tokens || x.Rows > 0 && a.head < 1 || x.Cols%max(a.head, 1) != 0 {
		panic(fmt.Sprintf("layer: rotary positions of %d tokens and heads of %d coordinates for a matrix of %d×%d",
			a.tokens, a.head, x.Rows, x.Cols))
	}
	grain := rowGrain(x.Cols)
	c := pool.Get[turning[T]](&turnings)
	*c = turning[T]{angles: a, x: x, sign: sign, grain: grain}
	parallel.Do((x.Rows+grain-1)/grain, c)
	*c = turning[T]{}
	pool.Put(&turnings, c)
}

type turning[T dense.Float] struct {
	angles angles[T]
	x      dense.Matrix[T]
	sign   T
	grain  int // rows of a task
}

var turnings pool.Pair[turning[float32], turning[float64]]

func (c *turning[T]) Piece(i int) {
	a := c.angles
	for t := i * c.grain; t < min((i+1)*c.grain, c.x.Rows); t++ {
		cos, sin := a.token(t)
		row := c.x.Row(t)
		for h := 0; h < len(row); h += a.head {
			if head := row[h:][:2*a.pairs]; a.neighbours {
				turnNeighbours(head, cos, sin, c.sign)
			} else {
				turnHalves(head, cos, sin, c.sign)
			}
		}
	}
}

func turnHalves[T dense.Float](x, cos, sin []T, sign T) {
	n := len(cos)
	a, b, sin := x[:n], x[n:][:n], sin[:n]
	for i, c := range cos {
		s := sign * sin[i]
		a[i], b[i] = a[i]*c-b[i]*s, a[i]*s+b[i]*c
	}
}

func turnNeighbours[T dense.Float](x, cos, sin []T, sign T) {
	for i, c := range cos {
		pair, s := x[2*i:][:2], sign*sin[i]
		pair[0], pair[1] = pair[0]*c-pair[1]*s, pair[0]*s+pair[1]*c
	}
}
