// Package layer adds learned projections to attention: a multi-head attention layer with weight
// files and gradients of all parameters.
//
// # The layer
//
// A [MultiHead] makes queries, keys and values from rows by linear maps, runs a performer.Batch
// over them and may map the heads to the output. With exact attention it is PyTorch's
// nn.MultiheadAttention, and it reads and writes the weights of that as safetensors files. [Read]
// takes the names of models of Hugging Face too, GPT-2's among them, and [ReadNamed] any others.
//
//	p, err := layer.Draw[float32](layer.Widths{Input: 512, Heads: 8, Bias: true}, src)
//	exact, err := performer.NewExact[float32](performer.ExactOptions{})
//	attention, err := performer.NewBatch[float32](8, 8, exact)
//	l, err := layer.New(p, attention, layer.Options{})
//	out := l.Forward(dense.Matrix[float32]{}, x, performer.Sequences{})
//
// # Decoding
//
// [MultiHead.Step] takes tokens one after another over a performer.State, which may be marked and
// rolled back:
//
//	state, err := l.NewState()
//	out = l.Step(out, token, state)
//
// # Positions and norms
//
// Today's models turn queries and keys by rotary positions between projections and attention, and
// some divide them by their root mean square before. [Options] has the positions, [Projections] the
// gains of the norms, which [Read] takes from files of Qwen3, Gemma 3 and OLMo 2:
//
//	opts := layer.Options{Rotary: &layer.RotaryOptions{Base: 1e6}, Epsilon: 1e-6}
//	l, err := layer.Read(file, "model.layers.0.self_attn.", attention, opts)
//
// The position of a token is its row within its sequence, and in Step the number of tokens before
// it. So sequences packed one after another have positions of their own. Rows of padding before a
// sequence may be a sequence too; scores depend on differences of positions, so that exact attention
// sees a shift in its rounding alone. [MultiHead.At] takes any positions.
//
// [Rotary] is rotary positions by themselves:
//
//	r, err := layer.NewRotary[float32](64, layer.RotaryOptions{Base: 500000})
//	angles = r.Angles(angles, positions)
//	angles.Turn(q)
//	angles.Turn(k)
//
// # Gradients
//
// [MultiHead.Backward] takes sequences, grouped heads, masks and pasts as Forward does, and writes
// the gradients of all parameters in the order of the parameters:
//
//	dw := new(layer.Projections[float32])
//	dx = l.Backward(dx, dw, x, dout, s)
//	for i, g := range dw.Parameters() {
//		step(l.Projections().Parameters()[i].Value, g.Value)
//	}
//
// # References
//
//   - [bloc97 2023] bloc97: NTK-aware scaled RoPE allows LLaMA models to have extended (8k+) context
//     size without any fine-tuning and minimal perplexity degradation. Reddit, r/LocalLLaMA, 2023.
//   - [Chen et al. 2023] S. Chen, S. Wong, L. Chen, Y. Tian: Extending context window of large
//     language models via positional interpolation. arXiv:2306.15595, 2023.
//   - [Glorot & Bengio 2010] X. Glorot, Y. Bengio: Understanding the difficulty of
//     training deep feedforward neural networks. AISTATS 2010.
//   - [Grattafiori et al. 2024] A. Grattafiori et al.: The Llama 3 herd of models. arXiv:2407.21783,
//     2024. The program that goes with Llama 3.1 has the formula.
//   - [Katharopoulos et al. 2020] A. Katharopoulos, A. Vyas, N. Pappas, F. Fleuret:
//     Transformers are RNNs: fast autoregressive transformers with linear attention.
//     ICML 2020.
//   - [Peng et al. 2023] B. Peng, J. Quesnelle, H. Fan, E. Shippole: YaRN: efficient context window
//     extension of large language models. ICLR 2024.
//   - [Su et al. 2021] J. Su, Y. Lu, S. Pan, A. Murtadha, B. Wen, Y. Liu: RoFormer: enhanced
//     transformer with rotary position embedding. Neurocomputing 568, 2024.
//   - [Zhang & Sennrich 2019] B. Zhang, R. Sennrich: Root mean square layer normalization. NeurIPS
//     2019.
package layer
