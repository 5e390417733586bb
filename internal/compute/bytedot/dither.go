package bytedot

import (
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

// The dithered codes of a row x are round(x_l/σ + u_l) with fixed numbers u_l within ±½ and the
// scale σ = max|x|/126.5. Products with dithered codes subtract Σ_l u_l·k̂_l. What is left of the
// error of rounding hardly depends on x. Without u_l, the errors of a row with few different
// numbers are alike.

func Dither[T dense.Float](u []T) {
	for l := range u {
		u[l] = T(int32(uint32(l+1)*0x9e3779b1)) / (1 << 32)
	}
}

// dither prepares r for products with dithered columns. products[i] is Σ_l u_l·x_il of row i, and
// Σ_l u_l·k̂_il but for rounding.
func dither[T dense.Float](r *CodedRows, products []T) {
	r.dithered = resize(r.dithered, len(r.corrections))
	clear(r.dithered[r.n:])
	for i, scale := range r.Scales {
		r.dithered[i] = 0
		if tier != simd.NEON { // see CodedColumns.signed
			r.dithered[i] = r.corrections[i]
		}
		if sum := math.RoundToEven(float64(products[i]) / float64(scale)); sum-sum == 0 {
			r.dithered[i] -= int32(sum)
		}
	}
}
