package performer

import "github.com/seed-feabd252/randfeat/dense"

// Attention computes outputs (Lq×dv) from queries q (Lq×d), keys k (Lk×d) and values v (Lk×dv).
// Forward writes the outputs into dst (Lq×dv) and returns dst; Forward allocates a dst that is
// zero. [Exact], [Linear], [Batch] and the attention of package blocks implement
// Attention. Package audit, [NewBatch] and [Attend] take also Attention that other packages
// implement, but without gradients, masks and past keys.
type Attention[T dense.Float] interface {
	Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T]
}
