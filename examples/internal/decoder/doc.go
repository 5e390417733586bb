// Package decoder runs decoders with the layers of Llama [Touvron et al. 2023].
//
// # References
//
//   - [Touvron et al. 2023] H. Touvron et al.: LLaMA: open and efficient foundation language
//     models. arXiv:2302.13971, 2023.
//   - [Zhang & Sennrich 2019] B. Zhang, R. Sennrich: Root mean square layer normalization. NeurIPS
//     2019.
package decoder
