package laws

import "github.com/seed-feabd252/randfeat/hadamard"

// DotProductFastfood is the law of the features wᵀx/√m with rows, of the lengths
// given, of blocks H·G·Π·H·B [Le, Sarlós & Smola 2013] of order
// d' = hadamard.FastOrder(d), points being padded with zeros and lengths those of
// R^d'. With lengths from χ(d') rows are N(0, I). The covariance of two rows of a
// block is
//
//	c = d'/(d'+2)·(s² + (2T₁ − ‖x‖²‖y‖² − s²)/(d'−1)) − s²,  T₁ = P − 2·Σ x_i²y_i²,
//
// with P and T₁ as in DotProductHadamard.
//
// With X and Y the images of x and y under Π·H·B/√d', two rows project them on u and
// u∘ε, times lengths, with u uniform on the sphere and ε the product of two rows of
// H, half of which is −1. The fourth moments of u give
//
//	d'/(d'+2)·(s² + (Σ ε_iX_i²)(Σ ε_iY_i²) + (Σ ε_iX_iY_i)²)
//
// for the product of two terms, and Π makes ε a random one: E[(Σ ε_ia_i)(Σ ε_ib_i)]
// is (d'·Σ a_ib_i − Σ a_i·Σ b_i)/(d'−1), where d'·E[Σ X_i²Y_i²] = T₁.
func DotProductFastfood(x, y []float64, m int, lengths Lengths) float64 {
	return homogeneous(x, y, m, 2, func(z pair) float64 {
		order := hadamard.FastOrder(z.d)
		d, s2 := float64(order), z.s*z.s
		t1 := z.fourth() - 2*z.squares()
		c := d/(d+2)*(s2+(2*t1-z.xx*z.yy-s2)/(d-1)) - s2
		v := z.fourth() - s2
		if lengths == Fixed {
			v = z.haar(order) - s2
		}
		return blocks(m, order, v, c)
	})
}
