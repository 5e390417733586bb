// Package layer adds learned projections to attention: a multi-head attention layer with files of
// weights and gradients of all parameters.
//
// # The layer
//
// A [MultiHead] maps rows to queries, keys and values by linear maps, runs a performer.Batch on
// them, and may map the heads to the output. With exact attention a MultiHead is PyTorch's
// nn.MultiheadAttention. Weights are read from safetensors files and written to them. [Read] knows
// the names of tensors of most models of Hugging Face and of GPT-2. [ReadNamed] reads tensors with
// any names.
//
//	p, err := layer.Draw[float32](layer.Widths{Input: 512, Heads: 8, Bias: true}, src)
//	exact, err := performer.NewExact[float32](performer.ExactOptions{})
//	attention, err := performer.NewBatch[float32](performer.BatchOptions{Heads: 8}, exact)
//	l, err := layer.New(p, attention, layer.Options{})
//	out := l.Forward(dense.Matrix[float32]{}, x, performer.Sequences{})
//
// # Decoding
//
// [MultiHead.Step] appends tokens to a performer.State, which supports Snapshot and Rollback:
//
//	state, err := l.NewState()
//	out = l.Step(out, token, state)
//
// [MultiHead.StepAll] steps several streams, which may come and go, and reads the weights once.
//
// # Weights of 16 bits
//
// A step of few tokens takes the time to read the weights. F16 and BF16 have half the bytes of
// float32. [Read] keeps the type of the file, unless [Options] has another. Outputs have the bits
// of a layer with the same numbers of type T. Gradients need weights of type T:
//
//	l, err := layer.Read(file, prefix, attention, layer.Options{Weights: safetensors.F32})
//
// [Linear] is the product with one matrix of weights, for the other matrices of a model:
//
//	head, err := layer.NewLinear(w, nil, safetensors.BF16)
//	logits = head.Apply(logits, x)
//
// # Positions and norms
//
// Recent models rotate queries and keys by rotary positions after the projections. Some models
// divide queries and keys by their root mean square before the rotation. [Options] has the rotary
// positions, and [Projections] the gains of the norms, which [Read] reads from files of Qwen3,
// Gemma 3 and OLMo 2:
//
//	opts := layer.Options{Rotary: &layer.RotaryOptions{Base: 1e6}, Epsilon: 1e-6}
//	l, err := layer.Read(file, "model.layers.0.self_attn.", attention, opts)
//
// The position of a token is the number of tokens before it in its sequence or State. So positions
// of packed sequences begin at zero in each. Padding rows before a sequence can be a sequence of
// their own. Scores depend on differences of positions, so a shift of all positions changes only
// the rounding of exact attention. [MultiHead.WithPositions] sets any positions.
//
// [Rotary] is rotary positions alone:
//
//	r, err := layer.NewRotary[float32](64, layer.RotaryOptions{Base: 500000})
//	angles = r.Angles(angles, positions)
//	angles.Turn(q)
//	angles.Turn(k)
//
// [RMSNorm] is the norm alone, also of the rows before a layer. [GatedSiLU] and [LogSumExp] are the
// gate of the inner layers and the loss of a decoder.
//
// # Another attention
//
// [MultiHead.WithAttention] returns a layer with the same weights and another attention, and
// [MultiHead.Project] returns queries, keys and values as attention receives them, for package
// audit:
//
//	q, k, v := l.Project(x, x, x, performer.Sequences{})
//
// # Gradients
//
// [MultiHead.Backward] accepts the sequences, grouped heads, masks and pasts of Forward, and writes
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
//   - [bloc97 2023] bloc97: NTK-aware scaled RoPE allows LLaMA models to have extended (8k+)
//     context size without any fine-tuning and minimal perplexity degradation. Reddit, 2023.
//   - [Chen et al. 2023] S. Chen, S. Wong, L. Chen, Y. Tian: Extending context window of large
//     language models via positional interpolation. arXiv:2306.15595, 2023.
//   - [Ding et al. 2024] Y. Ding, L. L. Zhang, C. Zhang, Y. Xu, N. Shang, J. Xu, F. Yang, M. Yang:
//     LongRoPE: extending LLM context window beyond 2 million tokens. ICML 2024.
//   - [Glorot & Bengio 2010] X. Glorot, Y. Bengio: Understanding the difficulty of
//     training deep feedforward neural networks. AISTATS 2010.
//   - [Grattafiori et al. 2024] A. Grattafiori et al.: The Llama 3 herd of models.
//     arXiv:2407.21783, 2024. The formula is in the program of Llama 3.1.
//   - [Peng et al. 2023] B. Peng, J. Quesnelle, H. Fan, E. Shippole: YaRN: efficient context window
//     extension of large language models. ICLR 2024.
//   - [Shazeer 2020] N. Shazeer: GLU variants improve transformer. arXiv:2002.05202, 2020.
//   - [Su et al. 2021] J. Su, Y. Lu, S. Pan, A. Murtadha, B. Wen, Y. Liu: RoFormer: enhanced
//     transformer with rotary position embedding. Neurocomputing 568, 2024.
//   - [Zhang & Sennrich 2019] B. Zhang, R. Sennrich: Root mean square layer normalization. NeurIPS
//     2019.
package layer
