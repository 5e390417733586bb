package rff

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/kernels"
)

// Sum returns the feature map φ(x) = (√w_1·φ_1(x), …, √w_K·φ_K(x)) that joins the features of K
// maps φ_k with weights w_k, so that φ(x)ᵀφ(y) = Σ_k w_k·φ_k(x)ᵀφ_k(y). The Kernel of the map of
// Sum is kernels.Sum of the weighted kernels of the K maps, or nil if a map of weight above 0 has a
// nil Kernel. The map of Sum is exact, unbiased or Differentiable if all given maps are, Paired if
// one is, and never a LogMap. The features of a map of weight 0 are 0, and are not computed.
//
// Each method of the map of Sum costs the methods of the K given maps and O(n·D) for n points and D
// features. Sum copies the slices maps and weights; ridge.Choose compares weights. Sum returns
// an error for no maps, a number of weights that is not the number of maps, maps of different
// dimensions, a weight that is negative or not finite, and weights that are all 0.
func Sum[T dense.Float](maps []Map[T], weights []float64) (Map[T], error) {
	return build[T](sumRecipe[T]{maps, weights})
}

type sumRecipe[T dense.Float] struct {
	Maps    []Map[T]
	Weights []float64
}

func newSum[T dense.Float](r sumRecipe[T]) (Map[T], error) {
	maps, weights := r.Maps, r.Weights
	if len(maps) == 0 {
		return nil, fmt.Errorf("rff: maps is empty, want at least one map")
	}
	if len(weights) != len(maps) {
		return nil, fmt.Errorf("rff: %d weights for %d maps, want one for each", len(weights), len(maps))
	}
	roots, keys, total, paired := make([]T, len(maps)), make([]Map[T], len(maps)), 0, false
	for i, m := range maps {
		if m == nil {
			return nil, fmt.Errorf("rff: maps[%d] is nil, want a map", i)
		}
		first, _ := maps[0].Dims()
		in, out := m.Dims()
		if in != first {
			return nil, fmt.Errorf("rff: maps[%d] is a map of R^%d, want R^%d, as maps[0]", i, in, first)
		}
		total = min(total, math.MaxInt-out) + out
		if err := limit.Memory[T](total); err != nil {
			return nil, fmt.Errorf("rff: maps up to maps[%d] have %d features: %w", i, total, err)
		}
		if w := weights[i]; w != 0 {
			if !(w > 0) || math.IsInf(w, 1) {
				return nil, fmt.Errorf("rff: weights[%d] = %v, want a finite number from 0 on", i, w)
			}
			var err error
			if roots[i], err = root[T](fmt.Sprintf("weights[%d]", i), w); err != nil {
				return nil, err
			}
		}
		keys[i] = Keys(m)
		paired = paired || !same(m, keys[i])
	}
	if slices.Max(weights) == 0 {
		return nil, fmt.Errorf("rff: weights are all 0, want at least one above 0")
	}
	r = sumRecipe[T]{slices.Clone(maps), slices.Clone(weights)}
	if !paired {
		return join(sumOf(maps, weights, roots), nil, r), nil
	}
	return join(sumOf(maps, weights, roots), sumOf(keys, weights, roots), r), nil
}

func sumOf[T dense.Float](maps []Map[T], weights []float64, roots []T) complete[T] {
	f := &sum[T]{maps: slices.Clone(maps), roots: roots, ends: make([]int, len(maps))}
	f.in, _ = maps[0].Dims()
	terms, known, differentiable := kernels.Sum{}, true, true
	var names []string
	for i, m := range maps {
		_, out := m.Dims()
		f.out += out
		f.ends[i] = f.out
		w := weights[i]
		names = append(names, fmt.Sprintf("%v·(%v)", w, m))
		_, ok := m.(Differentiable[T])
		differentiable = differentiable && ok
		if w == 0 {
			continue
		}
		k := m.Kernel()
		known = known && k != nil
		if w != 1 {
			k = kernels.Scaled{K: k, By: w}
		}
		terms = append(terms, k)
	}
	f.name = fmt.Sprintf("Sum(%s)", strings.Join(names, " + "))
	if known {
		f.kernel = terms
	}
	f.rows, f.transform = affineRows, f.features
	if differentiable {
		f.pull, f.backward = f.pulled, f.canBackward
	}
	return f
}

type sum[T dense.Float] struct {
	through[T, []T]
	maps  []Map[T]
	roots []T   // √w; a map with root 0 is not computed
	ends  []int // the features of map i end before column ends[i]
}

func (f *sum[T]) part(phi dense.Matrix[T], i int) dense.Matrix[T] {
	_, out := f.maps[i].Dims()
	return phi.ColRange(f.ends[i]-out, f.ends[i])
}

func (f *sum[T]) features(_ *[]T, dst, x, _ dense.Matrix[T]) {
	for i, m := range f.maps {
		part, root := f.part(dst, i), f.roots[i]
		if root != 0 {
			m.Transform(part, x)
		}
		for j := range part.Rows {
			switch root {
			case 0:
				clear(part.Row(j))
			case 1:
			default:
				vecmath.Scale(part.Row(j), root)
			}
		}
	}
}

func (f *sum[T]) canBackward() error {
	for i, m := range f.maps {
		if err := m.(Differentiable[T]).CanBackward(); err != nil {
			return fmt.Errorf("rff: maps[%d]: %w", i, err)
		}
	}
	return nil
}

func (f *sum[T]) pulled(s *[]T, dst, x, g dense.Matrix[T]) {
	for i := range dst.Rows {
		clear(dst.Row(i))
	}
	dx := scratchMatrix(s, x.Rows, f.in)
	for i, m := range f.maps {
		if f.roots[i] == 0 {
			continue
		}
		m.(Differentiable[T]).Backward(dx, x, f.part(g, i))
		for j := range dst.Rows {
			vecmath.AddScaled(dst.Row(j), dx.Row(j), f.roots[i])
		}
	}
}
