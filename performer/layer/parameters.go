package layer

import "github.com/seed-feabd252/randfeat/dense"

// Parameter is a learned matrix with its name. A vector has one row.
type Parameter[T dense.Float] struct {
	Name  string
	Value dense.Matrix[T]
}

// Parameters returns the weights, biases and gains in p as views, in the order
//
//	q_proj_weight, q_proj_bias, k_proj_weight, k_proj_bias, v_proj_weight, v_proj_bias,
//	out_proj.weight, out_proj.bias, q_norm.weight, k_norm.weight
//
// without those that p does not have. If p are the Projections of a [MultiHead], the layer uses
// what is written into them, by an optimiser for example. If [MultiHead.Backward] has written p,
// element i is the gradient with respect to parameter i of the Projections of the layer.
func (p Projections[T]) Parameters() []Parameter[T] {
	var parameters []Parameter[T]
	names := [4][2]string{
		{"q_proj_weight", "q_proj_bias"}, {"k_proj_weight", "k_proj_bias"},
		{"v_proj_weight", "v_proj_bias"}, {"out_proj.weight", "out_proj.bias"},
	}
	for i, m := range p.all() {
		if m.weight.Rows > 0 {
			parameters = append(parameters, Parameter[T]{names[i][0], *m.weight})
		}
		if *m.bias != nil {
			parameters = append(parameters, Parameter[T]{names[i][1], dense.Of(1, len(*m.bias), *m.bias)})
		}
	}
	for i, gain := range [2][]T{p.QueryNorm, p.KeyNorm} {
		if gain != nil {
			parameters = append(parameters, Parameter[T]{normWeights[i], dense.Of(1, len(gain), gain)})
		}
	}
	return parameters
}
