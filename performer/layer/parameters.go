package layer

import "github.com/seed-feabd252/randfeat/dense"

// Parameter is a matrix that is learned, by name. A vector has one row.
type Parameter[T dense.Float] struct {
	Name  string
	Value dense.Matrix[T]
}

// Parameters returns the weights and biases that the layer has, in the order of the
// names
//
//	q_proj_weight, q_proj_bias, k_proj_weight, k_proj_bias, v_proj_weight, v_proj_bias,
//	out_proj.weight, out_proj.bias
//
// as views of its own memory: what is written into them, by an optimiser say, the layer
// uses from then on. It is not safe while another goroutine uses the layer.
func (l *MultiHead[T]) Parameters() []Parameter[T] { return l.Projections().Parameters() }

// Parameters returns the weights and biases that there are as views, in the order and with
// the names of those of a [MultiHead]. Of gradients that [MultiHead.Backward] has written
// into p they are those with respect to the parameters of the layer, one by one.
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
	return parameters
}
