// Package decoder runs and trains decoders with the layers of Llama or of GPT-2, whose attention is
// any form of package performer.
//
// # References
//
//   - [Ba et al. 2016] J. L. Ba, J. R. Kiros, G. E. Hinton: Layer normalization. arXiv:1607.06450,
//     2016.
//   - [Hendrycks & Gimpel 2016] D. Hendrycks, K. Gimpel: Gaussian error linear units (GELUs).
//     arXiv:1606.08415, 2016.
//   - [Loshchilov & Hutter 2019] I. Loshchilov, F. Hutter: Decoupled weight decay regularization.
//     ICLR 2019.
//   - [Radford et al. 2019] A. Radford, J. Wu, R. Child, D. Luan, D. Amodei, I. Sutskever: Language
//     models are unsupervised multitask learners. 2019.
//   - [Shazeer 2020] N. Shazeer: GLU variants improve transformer. arXiv:2002.05202, 2020.
//   - [Touvron et al. 2023] H. Touvron et al.: LLaMA: open and efficient foundation language models.
//     arXiv:2302.13971, 2023.
//   - [Zhang & Sennrich 2019] B. Zhang, R. Sennrich: Root mean square layer normalization. NeurIPS
//     2019.
package decoder
