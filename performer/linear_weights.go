package performer

import "github.com/seed-feabd252/randfeat/dense"

// Weights writes the implicit Lq×Lk matrix of attention into dst and returns dst, for inspection; a
// zero dst is allocated. Element (i, j) is the weight of value j in output i: φ_Q(q_i)ᵀφ_K(k_j),
// divided by its sum over j unless unnormalised, and zero for j > i if causal. With maps that are
// not LogMaps weights may be negative.
//
// Weights is Forward with the identity for values, also for NaN: a key that is NaN makes all
// weights of the rows that see it NaN. Weights takes O(L²·m) time and O(m·Lk + Lk²) memory. dst
// must not overlap q or k. Weights panics with the shapes if they do not fit.
func (a *Attention[T]) Weights(dst, q, k dense.Matrix[T]) dense.Matrix[T] {
	checkPoints(q, k, a.opts.Causal)
	dst = a.Forward(dst, q, k, identity[T](k.Rows))
	if a.opts.Causal {
		clearFuture(dst)
	}
	return dst
}

// identity returns the n×n identity matrix.
func identity[T dense.Float](n int) dense.Matrix[T] {
	m := dense.New[T](n, n)
	for i := range n {
		m.Data[i*n+i] = 1
	}
	return m
}
