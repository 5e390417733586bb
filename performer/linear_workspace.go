package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/scratch"
)

// workspace is the scratch memory of one goroutine: the (log-)features of a
// block of queries or keys, the sums of queries, and what a row needs. Nothing in it
// grows with the number of tokens.
type workspace[T dense.Float] struct {
	features scratch.Buffer[T] // a.rows×m
	sums     scratch.Buffer[T] // a.rows×width
	scratch  []T               // m
	scales   []scale           // a.rows if unnormalised or sums
}

// workspace takes a workspace for values of dimension dv from the pool.
func (a *Attention[T]) workspace(dv int) *workspace[T] {
	w := a.workspaces.Get()
	if w.scratch == nil {
		w.scratch = make([]T, a.m)
		if a.opts.Unnormalised || a.sums {
			w.scales = make([]scale, a.rows)
		}
		w.features.Shape(a.rows, a.m)
	}
	w.sums.Shape(a.rows, a.width(dv))
	return w
}

// width returns the number of columns of the sums for values of dimension dv.
func (a *Attention[T]) width(dv int) int {
	if a.opts.Unnormalised {
		return dv
	}
	return dv + 1
}
