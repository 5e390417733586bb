package linear

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

type features[T dense.Float] struct {
	query, key rff.Map[T]
	logs       bool
}

func newFeatures[T dense.Float](query, key rff.Map[T]) *features[T] {
	_, queryIsLog := query.(rff.LogMap[T])
	_, keyIsLog := key.(rff.LogMap[T])
	return &features[T]{query, key, queryIsLog && keyIsLog}
}

func (f *features[T]) Queries(dst, q dense.Matrix[T]) dense.Matrix[T] {
	return f.transform(f.query, dst, q)
}

func (f *features[T]) Keys(dst, k dense.Matrix[T]) dense.Matrix[T] { return f.transform(f.key, dst, k) }

// transform writes the (log-)features of points x into dst. It panics if the features do not have
// the shape of Dims of phi, or are not in the memory of dst.
func (f *features[T]) transform(phi rff.Map[T], dst, x dense.Matrix[T]) dense.Matrix[T] {
	var y dense.Matrix[T]
	if f.logs {
		y = phi.(rff.LogMap[T]).LogTransform(dst, x)
	} else {
		y = phi.Transform(dst, x)
	}
	if _, m := phi.Dims(); y.Rows != x.Rows || y.Cols != m {
		panic(fmt.Sprintf("performer: features of %T are %d×%d for points of %d×%d, want %d×%d", phi, y.Rows, y.Cols, x.Rows, x.Cols, x.Rows, m))
	}
	if len(dst.Data) > 0 && len(y.Data) > 0 && &dst.Data[0] != &y.Data[0] {
		panic(fmt.Sprintf("performer: %T returns its features in other memory, want them in dst", phi))
	}
	return y
}

func (f *features[T]) DirectQueries(dst, q dense.Matrix[T]) { f.query.Transform(dst, q) }

func (f *features[T]) DirectKeys(dst, k dense.Matrix[T]) { f.key.Transform(dst, k) }

func (f *features[T]) PullQueries(dq, q, slopes dense.Matrix[T]) { f.pull(f.query, dq, q, slopes) }

func (f *features[T]) PullKeys(dk, k, slopes dense.Matrix[T]) { f.pull(f.key, dk, k, slopes) }

func (f *features[T]) pull(m rff.Map[T], dx, x, slopes dense.Matrix[T]) {
	if f.logs {
		m.(rff.DifferentiableLog[T]).LogBackward(dx, x, slopes)
	} else {
		m.(rff.Differentiable[T]).Backward(dx, x, slopes)
	}
}

// Most features elu+1 take one addition, and their logarithms take a transcendental function.
func isELU[T dense.Float](m rff.Map[T]) bool {
	_, ok := m.Kernel().(kernels.ELU)
	return ok
}
