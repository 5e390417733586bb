package performer

import "github.com/seed-feabd252/randfeat/dense"

// Attention computes outputs (Lq×dv) from queries q (Lq×d), keys k (Lk×d) and values v (Lk×dv).
// Forward writes the outputs of Lq queries into dst (Lq×dv) and returns dst; Forward allocates a
// dst that is zero.
//
// [Exact], [Linear], [Batch] and blocks.Attention implement Attention. Package audit, [NewBatch]
// and [Attend] also accept types of foreign packages that implement Attention, but compute no
// gradients, masks and past keys for such types.
type Attention[T dense.Float] interface {
	Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T]
}
