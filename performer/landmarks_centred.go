package performer

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/performer/internal/nystroem"
)

// Centred returns l with the vector b taken off queries and c off keys, which is made up for
// exactly: with κ(x, y) = exp(s·xᵀy) and z_i now of the centred keys,
//
//	Â_ij = κ(q_i−b, Z)·κ(Z, Z)⁻¹·κ(Z, k_j−c)·exp(s·q_iᵀc + s·bᵀk_j − s·bᵀc).
//
// It estimates the same attention, and errors are many times smaller where the means of queries and
// keys are far apart, as those of trained transformers are: Z lies among the keys, and a query far
// from them has a large residual ρ. b and c should be the means of queries and keys, which
// [rff.SubtractMean] computes. But for rounding only b − c matters. A nil b or c stands for 0.
//
// b and c are constants, for gradients too. Were they means of the queries of a call, then an
// output would depend on other queries, on padding among them, and on how queries are cut into
// calls. Causal attention and a [State] take means of earlier tokens or other texts. Landmarks that
// are given stay the same points, near keys. If l has means already, b and c replace them.
//
// The cost is that of l and O((Lq+Lk)·d). The error reports a b or c that is neither nil nor of the
// length of the other and of the dimension of given landmarks, an element that is not finite, and a
// given landmark z with s·‖z − c‖²/2 out of the range of T.
func (l *Landmarks[T]) Centred(b, c []T) (*Landmarks[T], error) { return l.made().Centred(b, c) }

func (l *landmarks[T]) Centred(b, c []T) (*Landmarks[T], error) {
	d := l.z.Cols
	if l.set == nil {
		d = max(len(b), len(c))
	}
	m := &nystroem.Means[T]{Query: make([]T, d), Key: make([]T, d), Absolute: l.exact.Unnormalised || l.exact.Causal}
	for _, v := range []struct {
		name string
		from []T
		to   []T
	}{{"b", b, m.Query}, {"c", c, m.Key}} {
		if len(v.from) != 0 && len(v.from) != d {
			return nil, fmt.Errorf("performer: %s has length %d, want %d", v.name, len(v.from), d)
		}
		for j, x := range v.from {
			if x-x != 0 {
				return nil, fmt.Errorf("performer: %s[%d] = %v, want a finite number", v.name, j, x)
			}
		}
		copy(v.to, v.from)
	}
	if len(b) == 0 && len(c) == 0 {
		m = nil
	}
	to := &landmarks[T]{exact: l.exact, n: l.n, seed: l.seed, z: l.z, d: d, means: m}
	if l.set != nil {
		set, err := nystroem.At(l.exact.scale(d), l.z, m)
		if err != nil {
			return nil, err
		}
		to.set = set
	}
	to.setEngine(l.engine.Undivided)
	to.setDouble()
	return &Landmarks[T]{to}, nil
}
