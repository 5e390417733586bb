package givens

import (
	"errors"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/planerot"
	"github.com/seed-feabd252/randfeat/internal/file/registry"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
)

type productRecipe[T dense.Float] struct {
	D      int
	Axes   []int32 // i and j of each rotation, the first one first
	Angles []T     // cos θ and sin θ of each rotation
}

func init() {
	register[float32]()
	register[float64]()
}

func register[T dense.Float]() {
	registry.Register(map[string]any{"Product": productRecipe[T]{}}, func(r any) (*Product[T], error) { return r.(productRecipe[T]).product() })
	registry.RegisterFunc((*Product[T]).recipe)
}

func (p *Product[T]) recipe() (any, error) {
	if p.d == 0 {
		return nil, errors.New("a zero Product, want one of RandomProduct to write it")
	}
	r := productRecipe[T]{D: p.d, Axes: []int32{}, Angles: []T{}}
	for _, g := range p.turns {
		r.Axes, r.Angles = append(r.Axes, g.I, g.J), append(r.Angles, g.Cos, g.Sin)
	}
	return r, nil
}

func (r productRecipe[T]) product() (*Product[T], error) {
	n := len(r.Axes) / 2
	switch {
	case r.D < 1 || r.D > math.MaxInt32:
		return nil, fmt.Errorf("d = %d, want 1 to %d", r.D, math.MaxInt32)
	case len(r.Axes) != 2*n || len(r.Angles) != 2*n:
		return nil, fmt.Errorf("%d axes and %d cosines and sines, want two of each for a rotation", len(r.Axes), len(r.Angles))
	}
	if err := limit.Memory[T](r.D); err != nil {
		return nil, fmt.Errorf("d = %d: %w", r.D, err)
	}
	p := &Product[T]{d: r.D, turns: make([]planerot.Turn[T], n)}
	for k := range p.turns {
		i, j, cos, sin := r.Axes[2*k], r.Axes[2*k+1], r.Angles[2*k], r.Angles[2*k+1]
		if min(i, j) < 0 || int(max(i, j)) >= r.D || i == j {
			return nil, fmt.Errorf("rotation %d of axes %d and %d, want two of %d", k, i, j, r.D)
		}
		// Written so that NaN is an error.
		if c, s := float64(cos), float64(sin); !(math.Abs(float64(c*c)+float64(s*s)-1) < 1e-5) {
			return nil, fmt.Errorf("rotation %d has cosine %v and sine %v, which are of no angle", k, cos, sin)
		}
		p.turns[k] = planerot.Turn[T]{I: i, J: j, Cos: cos, Sin: sin}
	}
	return p, nil
}
