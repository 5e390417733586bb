package laws

// DotProductSimplex is the law of the features wᵀx/√m of the dot product with simplex
// rows of the lengths given: DotProductHaar with the covariance
//
//	c = (T − s²)·(κ²d − 1)/(d−1),  κ = −1/(d−1),
//
// of two rows of a block. w is κ times v and √(1−κ²) times a unit vector orthogonal
// to v, up to lengths: E[(vᵀx)(vᵀy)(wᵀx)(wᵀy)] is κ²T and 1−κ² times what it is for
// orthogonal rows, s² − (T − s²)/(d−1).
func DotProductSimplex(x, y []float64, m int, lengths Lengths) float64 {
	return homogeneous(x, y, m, 2, func(z pair) float64 {
		d, t, cosine := float64(z.d), z.haar(z.d), simplexCosine(z.d)
		v := t - z.s*z.s
		c := v * (cosine*cosine*d - 1) / (d - 1)
		if lengths == Chi {
			v += 2 * t / d
		}
		return blocks(m, z.d, v, c)
	})
}
