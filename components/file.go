package components

import (
	"errors"
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/argument"
	"github.com/seed-feabd252/randfeat/internal/compute/features"
	"github.com/seed-feabd252/randfeat/internal/file/registry"
	"github.com/seed-feabd252/randfeat/rff"
)

type recipe[T dense.Float] struct {
	Of rff.Map[T]
	principalRecipe
}

type principalRecipe struct {
	Components    dense.Matrix[float64]
	Mean          []float64
	Variances     []float64 `archive:"explainedVariance"`
	TotalVariance float64
	Whiten        bool
}

func init() {
	register[float32]()
	register[float64]()
}

func register[T dense.Float]() {
	registry.Register(map[string]any{"Components": recipe[T]{}}, func(r any) (rff.Map[T], error) { return r.(recipe[T]).make() })
	registry.RegisterFunc(func(m *Model[T]) (any, error) {
		if m.none() {
			return nil, errors.New("components: the Model is zero, want one of Fit, FromSums or rff.Read")
		}
		return recipe[T]{m.phi, principalRecipe{m.vectors, m.mean, m.variances, m.total, m.whiten}}, nil
	})
}

func (r recipe[T]) make() (rff.Map[T], error) {
	if r.Of == nil {
		return nil, errors.New("components: of is nil, want a map")
	}
	_, width := r.Of.Dims()
	p, err := r.principal(width)
	if err != nil {
		return nil, err
	}
	return &Model[T]{r.Of, features.New(r.Of), *p}, nil
}

func (r principalRecipe) principal(width int) (*principal, error) {
	count := len(r.Variances)
	if count < 1 || r.Components.Rows != count || r.Components.Cols != width || len(r.Mean) != width {
		return nil, fmt.Errorf("components: components are %d×%d, mean has %d numbers and explainedVariance %d, for %d features",
			r.Components.Rows, r.Components.Cols, len(r.Mean), count, width)
	}
	if err := argument.Finite("components: components", r.Components); err != nil {
		return nil, err
	}
	if err := argument.FiniteAll("components: mean", r.Mean); err != nil {
		return nil, err
	}
	for k, v := range append([]float64{r.TotalVariance}, r.Variances...) {
		if !(v >= 0) || math.IsInf(v, 0) || k == 0 && v == 0 {
			return nil, fmt.Errorf("components: totalVariance = %v and explainedVariance = %v, want finite numbers above 0 and from 0 on", r.TotalVariance, r.Variances)
		}
	}
	p := &principal{vectors: r.Components, mean: r.Mean, variances: r.Variances, total: r.TotalVariance, whiten: r.Whiten}
	return p, p.prepare()
}
