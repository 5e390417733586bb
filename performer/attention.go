package performer

import "github.com/seed-feabd252/randfeat/dense"

// Attention computes outputs (Lq×dv) from queries q (Lq×d), keys k (Lk×d) and values v (Lk×dv).
// Forward writes the outputs into dst and returns dst; a zero dst is allocated. [Exact], [Linear],
// [Batch] and attention of packages clusters and blocks are Attention. Package audit, [NewBatch]
// and [Attend] also take Attention of other packages, which has no gradients, no masks and no past.
type Attention[T dense.Float] interface {
	Forward(dst, q, k, v dense.Matrix[T]) dense.Matrix[T]
}
