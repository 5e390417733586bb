package sums

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/fingerprint"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/logscale"
)

// Features are the features of queries and keys, φ_Q and φ_K, or their logarithms.
type Features[T dense.Float] interface {
	// Queries and Keys write the (log-)features of n points into dst (n×m) and return dst.
	Queries(dst, q dense.Matrix[T]) dense.Matrix[T]
	Keys(dst, k dense.Matrix[T]) dense.Matrix[T]

	// PullQueries and PullKeys write the gradients with respect to points. slopes (n×m) are the
	// gradients with respect to the (log-)features of the points.
	PullQueries(dq, q, slopes dense.Matrix[T])
	PullKeys(dk, k, slopes dense.Matrix[T])
}

// Direct computes features that cost less than their logarithms.
type Direct[T dense.Float] interface {
	// DirectQueries and DirectKeys write the features of n points into dst (n×m).
	DirectQueries(dst, q dense.Matrix[T])
	DirectKeys(dst, k dense.Matrix[T])
}

// Operator says what attention computes: out_i = Σ_j A_ij v_j / Σ_j A_ij with weights A_ij =
// φ_Q(q_i)ᵀφ_K(k_j). An Operator never changes.
type Operator[T dense.Float] struct {
	D, M     int // the dimension of points, or 0 for any, and the number of features
	Features Features[T]
	Direct   Direct[T] // nil unless attention tries features before logarithms

	Logs      bool // Features are logarithms
	Causal    bool // outputs must not depend on later keys
	Undivided bool // outputs are numerators, denominators and scales, see ExtraColumns
}

// ExtraColumns is the number of columns of an undivided output after numerator and denominator: the
// factor and the exponent of the scale by which both were divided.
const ExtraColumns = 2

// Engine computes attention of an operator. Goroutines may share it.
type Engine[T dense.Float] struct {
	Operator[T]
	memory      *memory[T]
	fingerprint fingerprint.Print
}

// memory is kept between calls. It does not grow with the number of tokens.
type memory[T dense.Float] struct {
	workspaces         pool.Of[Workspace[T]]
	gradientWorkspaces pool.Of[gradientWorkspace[T]]
	accumulators       pool.Of[Accumulator[T]]
	segments           pool.Of[segments[T]]
	bidirectionals     pool.Of[bidirectional[T]]
	gradients          pool.Of[gradient[T]]
	causals            pool.Of[causal[T]]
}

func New[T dense.Float](o Operator[T]) *Engine[T] {
	return &Engine[T]{Operator: o, memory: new(memory[T])}
}

// Marks returns marks of the (log-)features, which distinguish them from features of other maps. D
// must not be 0.
func (e *Engine[T]) Marks() []float64 {
	return fingerprint.Marks(&e.fingerprint, e.D, e.M, e.Features.Queries, e.Features.Keys)
}

func (e *Engine[T]) CheckMarks(marks []float64) error {
	if err := fingerprint.Check[T](e.Marks(), marks); err != nil {
		return fmt.Errorf("performer: %w", err)
	}
	return nil
}

const (
	ChunkRows = 64            // the most tokens of a causal chunk
	mostRows  = 4 * ChunkRows // of a block
)

func (e *Engine[T]) Rows() int { return blockRows(e.M) }

// blockRows returns a number of rows whose m features stay in a second cache of 512 KiB. The order
// of sums over keys depends on the number, which therefore does not depend on the machine.
func blockRows(m int) int { return min(max(1<<16/max(m, 1), ChunkRows), mostRows) }

// Workspace is the scratch memory of one goroutine. It does not grow with the number of tokens.
type Workspace[T dense.Float] struct {
	Features scratch.Buffer[T] // Rows×m, (log-)features of queries or keys
	Sums     scratch.Buffer[T] // Rows×(dv+1), products of queries with sums
	Scales   []logscale.Scale  // Rows, of Sums; nil if outputs need no scales
	totals   []T               // m
}

func (e *Engine[T]) Workspace(dv int) *Workspace[T] {
	w := e.memory.workspaces.Get()
	if w.totals == nil {
		w.totals = make([]T, e.M)
		if e.Undivided {
			w.Scales = make([]logscale.Scale, e.Rows())
		}
		w.Features.Shape(e.Rows(), e.M)
	}
	w.Sums.Shape(e.Rows(), dv+1)
	return w
}

func (e *Engine[T]) Release(w *Workspace[T]) { e.memory.workspaces.Put(w) }

// Finish writes the outputs of queries with the given sums: sums over their last column or, when
// undivided, with the scale of row i, scales[i].
func (e *Engine[T]) Finish(dst, sums dense.Matrix[T], scales []logscale.Scale) {
	for i := range dst.Rows {
		x, row := dst.Row(i), sums.Row(i)
		if e.Undivided {
			e.writeFraction(x, row, scales[i])
		} else {
			logscale.Divide(x, row, row[len(x)])
		}
	}
}

func (e *Engine[T]) writeFraction(dst, sums []T, s logscale.Scale) {
	n := copy(dst, sums)
	if !e.Logs {
		s = logscale.Scale{Factor: 1}
	}
	dst[n], dst[n+1] = T(s.Factor), T(s.Exponent)
}
