package sums

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/file/frame"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
)

// Features are the features of queries and keys, φ_Q and φ_K, or their logarithms.
type Features[T dense.Float] interface {
	// Queries and Keys write the (log-)features of n points into dst (n×m) and return dst.
	Queries(dst, q dense.Matrix[T]) dense.Matrix[T]
	Keys(dst, k dense.Matrix[T]) dense.Matrix[T]

	// PullQueries and PullKeys write the gradients with respect to points, where slopes (n×m) are
	// those with respect to their (log-)features.
	PullQueries(dq, q, slopes dense.Matrix[T])
	PullKeys(dk, k, slopes dense.Matrix[T])
}

// Direct are features that cost less than their logarithms.
type Direct[T dense.Float] interface {
	// DirectQueries and DirectKeys write the features of n points into dst (n×m).
	DirectQueries(dst, q dense.Matrix[T])
	DirectKeys(dst, k dense.Matrix[T])
}

// Mixer is a matrix C between log-features: weights are φ_Q(q)ᵀ·C·φ_K(k). Some keys may have weights
// of their own, which need neither the features of the key nor C.
type Mixer[T dense.Float] interface {
	// Hide takes the features of keys with weights of their own out of a block that begins with the
	// given key.
	Hide(keys dense.Matrix[T], first int)

	// Mix makes C·S the sums of to, for the sums S of from, which may be to. It adds the keys with
	// weights of their own and their values, rows of v. A v without rows adds none.
	Mix(to, from *Accumulator[T], v dense.Matrix[T])

	// Share is Mix with a positive diagonal matrix in place of C, and all keys. to is not from.
	Share(to, from *Accumulator[T], v dense.Matrix[T])

	// Residuals sets dst to how much of each query the features do not span, from 0 to 1.
	Residuals(dst []float64, q dense.Matrix[T])
}

// Operator is what attention computes: with weights A_ij = φ_Q(q_i)ᵀφ_K(k_j), or those of a Mixer,
// out_i = Σ_j A_ij v_j / Σ_j A_ij. It never changes.
type Operator[T dense.Float] struct {
	D, M     int // the dimension of points, or 0 for any, and the number of features
	Features Features[T]
	Direct   Direct[T] // nil unless normalised attention tries features before logarithms
	Mixer    Mixer[T]  // or nil

	Logs         bool // Features are logarithms
	Causal       bool // the sums over keys that queries ask may not depend on later keys
	Unnormalised bool // there is no division
	Undivided    bool // the outputs are what precedes a division, see ExtraColumns
}

// ExtraColumns is what an undivided output has beyond numerator and denominator: the factor and the
// exponent of the scale that both were divided by.
const ExtraColumns = 2

// Engine computes attention of an operator. Goroutines may share it.
type Engine[T dense.Float] struct {
	Operator[T]
	memory      *memory[T]
	fingerprint frame.Fingerprint
}

// memory is what calls leave for later calls. It does not grow with the number of tokens.
type memory[T dense.Float] struct {
	workspaces         pool.Of[Workspace[T]]
	gradientWorkspaces pool.Of[gradientWorkspace[T]]
	accumulators       pool.Of[Accumulator[T]]
	segments           pool.Of[segments[T]]
	bidirectionals     pool.Of[bidirectional[T]]
	gradients          pool.Of[gradient[T]]
	causals            pool.Of[causal[T]]
}

// New returns the engine of an operator.
func New[T dense.Float](o Operator[T]) *Engine[T] {
	return &Engine[T]{Operator: o, memory: new(memory[T])}
}

// With returns an engine with other features of the same number and kind, which are not tried
// directly, and with another mixer. It shares memory with e.
func (e *Engine[T]) With(f Features[T], m Mixer[T]) *Engine[T] {
	o := e.Operator
	o.Features, o.Direct, o.Mixer = f, nil, m
	return &Engine[T]{Operator: o, memory: e.memory}
}

// Marks returns the marks of the (log-)features that sums are made of, by which those of other maps
// are told apart. The engine has features of points of dimension D.
func (e *Engine[T]) Marks() []float64 {
	return frame.Marks(&e.fingerprint, e.D, e.M, e.Features.Queries, e.Features.Keys)
}

// CheckMarks returns an error unless these are the marks of e.
func (e *Engine[T]) CheckMarks(marks []float64) error {
	if err := frame.CheckMarks[T](e.Marks(), marks); err != nil {
		return fmt.Errorf("performer: %w", err)
	}
	return nil
}

// Width returns the number of columns of the sums for values of dimension dv.
func (e *Engine[T]) Width(dv int) int {
	if e.Unnormalised {
		return dv
	}
	return dv + 1
}

const (
	ChunkRows = 64            // the most tokens of a causal chunk
	mostRows  = 4 * ChunkRows // of a block
)

// Rows returns the number of rows of a block that is mapped, then consumed.
func (e *Engine[T]) Rows() int { return blockRows(e.M) }

// blockRows returns the number of rows whose m features, up to 2¹⁶ of them, stay in second caches of
// 512 KiB. The order of sums over keys depends on the number, which therefore follows no cache.
func blockRows(m int) int { return min(max(1<<16/max(m, 1), ChunkRows), mostRows) }

// Workspace is the scratch memory of one goroutine: the (log-)features of a block of queries or
// keys, the sums of queries, and scratch for a row. It does not grow with the number of tokens.
type Workspace[T dense.Float] struct {
	Features scratch.Buffer[T] // Rows×m
	Sums     scratch.Buffer[T] // Rows×Width
	Scales   []logscale.Scale  // Rows, nil if the sums of queries need none
	totals   []T               // m
}

// Workspace returns memory for values of dimension dv, which the caller gives to Release.
func (e *Engine[T]) Workspace(dv int) *Workspace[T] {
	w := e.memory.workspaces.Get()
	if w.totals == nil {
		w.totals = make([]T, e.M)
		if e.Unnormalised || e.Undivided {
			w.Scales = make([]logscale.Scale, e.Rows())
		}
		w.Features.Shape(e.Rows(), e.M)
	}
	w.Sums.Shape(e.Rows(), e.Width(dv))
	return w
}

// Release takes back a Workspace.
func (e *Engine[T]) Release(w *Workspace[T]) { e.memory.workspaces.Put(w) }
