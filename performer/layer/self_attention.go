package layer

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// NewLinearSelfAttention returns a layer of linear attention with the features elu+1 [Katharopoulos
// et al. 2020], with one head and without an output projection. Attention is bidirectional and
// normalised. The layer maps rows of dimension in to rows of dimension out:
//
//	Q, K, V = x·W_Qᵀ + b_Q, x·W_Kᵀ + b_K, x·W_Vᵀ + b_V  (each L×out)
//	out_i = φ(q_i)ᵀ Σ_j φ(k_j) v_jᵀ / φ(q_i)ᵀ Σ_j φ(k_j)
//
// The layer has biases if bias is set. Weights and biases are uniform in ±1/√in, as in PyTorch's
// nn.Linear. NewLinearSelfAttention draws them in the order W_Q, b_Q, W_K, b_K, W_V, b_V, in
// float64, and rounds once. [New] returns such a layer for given weights.
//
// NewLinearSelfAttention returns an error if in or out is below 1, if out×in weights take more
// memory than the machine has, or if src is nil.
func NewLinearSelfAttention[T dense.Float](in, out int, bias bool, src rand.Source) (*MultiHead[T], error) {
	if in < 1 || out < 1 {
		return nil, fmt.Errorf("layer: in = %d, out = %d, want at least 1", in, out)
	}
	if err := limit.Memory[T](in, out); err != nil {
		return nil, fmt.Errorf("layer: in = %d, out = %d: %w", in, out, err)
	}
	if src == nil {
		return nil, errors.New("layer: src is nil")
	}
	var p Projections[T]
	rng, bound := rand.New(src), 1/math.Sqrt(float64(in))
	all := p.all()
	for _, m := range all[:3] {
		*m.weight = uniform[T](rng, out, in, bound)
		if bias {
			*m.bias = uniform[T](rng, 1, out, bound).Data
		}
	}
	phi, err := rff.Draw[T](rff.ELU{D: out}, nil)
	if err != nil {
		return nil, err
	}
	linear, err := performer.NewLinear(phi, performer.LinearOptions{})
	if err != nil {
		return nil, err
	}
	attention, err := performer.NewBatch[T](1, 1, linear)
	if err != nil {
		return nil, err
	}
	return New(p, attention, Options{})
}
