package automl

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/ridge"
)

// sparse learns factors with which ridge regression is the lasso: rounds of
//
//	β = argmin Σ_i ω_i·(y_i − b − z_iᵀβ)² + λ·Σ_j β_j²/v_j,  v_j = |β_j| + 10⁻⁴·max|β|
//
// [Grandvalet 1998]. Columns times √v have the same β with the penalty λ·Σβ². Folds choose λ. Several
// outputs share v, with the root mean square of their β.
func sparse(s *search, b ridge.Block[float64]) (best space, start, ratio float64, err error) {
	at, err := standardised(b.X, false)
	if err != nil {
		return at, 0, 0, err
	}
	level := b.Y.Clone()
	centre(level, b.Weights)
	least := math.Inf(1)
	most := 2 * floats.Sum(b.Weights) * math.Sqrt(meanSquare(level.Data)) // from here on β is 0
	for k := range 10 {
		lambda, loss := most/math.Pow(2, float64(k+1)), 0.0
		for f := range folds {
			m, failed := s.lasso(pick(b, func(i int) bool { return i%folds != f }), at, lambda*(folds-1)/folds)
			if failed != nil {
				err, loss = failed, math.Inf(1)
				break
			}
			test := pick(b, func(i int) bool { return i%folds == f })
			mean := m.model.Mean(dense.Matrix[float64]{}, test.X)
			for i, w := range test.Weights {
				for j, v := range test.Y.Row(i) {
					loss += w * (v - mean.At(i, j)) * (v - mean.At(i, j))
				}
			}
		}
		if loss < least {
			least, ratio = loss, lambda
		}
	}
	if ratio == 0 {
		return at, 0, 0, err
	}
	m, err := s.lasso(b, at, ratio)
	return m.space, 0, ratio, err
}

// lasso runs the rounds for one λ.
func (s *search) lasso(b ridge.Block[float64], at space, lambda float64) (m learnt, err error) {
	root := make([]float64, b.X.Cols) // √v
	for j := range root {
		root[j] = 1
	}
	for range 10 {
		to := space{centre: at.centre, factors: make([]float64, len(root))}
		floats.MulTo(to.factors, at.factors, root)
		if m, err = s.fit(b, to, nil, lambda); err != nil {
			return m, err
		}
		w, _ := m.model.Weights()
		for j, r := range root {
			root[j] = r * math.Sqrt(meanSquare(w.Row(j)))
		}
		largest := floats.Max(root)
		for j, beta := range root {
			root[j] = math.Sqrt(beta + 1e-4*largest)
		}
	}
	return m, nil
}
