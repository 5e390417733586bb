// Package layer adds learned projections, files of weights and gradients to attention.
//
// A [MultiHead] maps rows to queries, keys and values by linear maps, rotates and normalises
// queries and keys if [Options] says so, runs a performer.Batch, and may map the heads to the
// output. With exact attention a MultiHead is PyTorch's nn.MultiheadAttention. [Read] reads weights
// from safetensors files of most models of Hugging Face and of GPT-2, [ReadNamed] from any files.
//
//	p, err := layer.Draw[float32](layer.Widths{Input: 512, Heads: 8, Bias: true}, src)
//	exact, err := performer.NewExact[float32](performer.ExactOptions{})
//	attention, err := performer.NewBatch[float32](performer.BatchOptions{Heads: 8}, exact)
//	l, err := layer.New(p, attention, layer.Options{Rotary: &layer.RotaryOptions{Base: 1e6}})
//	out := l.Forward(dense.Matrix[float32]{}, x, performer.Sequences{})
//	state, err := l.NewState()
//	out = l.Step(out, token, state) // decoding
//
// The position of a token is the number of tokens before it in its sequence or State.
// [MultiHead.WithPositions] sets any positions. Weights of 16 bits, which Read keeps, halve the
// time of a step of few tokens. The outputs equal, bit for bit, those of a layer with the weights
// converted to type T. Gradients need weights of type T. [Linear], [RMSNorm], [GatedSiLU] and
// [LogSumExp] are the other parts of a model. docs/names.md of this module has the options of
// published models, and docs/laws.md the references.
package layer
