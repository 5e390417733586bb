package semiseparable

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
)

// ResidualError reports a wrong inverse Y of a Matrix T: T·Y differs from I by more than rounding
// explains, because a block on the diagonal of T is ill-conditioned. Solve inverts only small
// blocks of T, and solves systems with T even after a ResidualError of Inverse.
type ResidualError struct {
	Row      int     // the first row of T·Y − I whose residual exceeds the bound
	Residual float64 // the residual of the row, relative to the sum of the magnitudes of its terms
	Bound    float64 // 8·(n + d + 128)·u, where u is the unit roundoff
}

// Error returns a message with the Row, the Residual and the Bound that the Residual exceeds.
func (e *ResidualError) Error() string {
	return fmt.Sprintf("semiseparable: row %d of T·T⁻¹ − I is %.2g relative to its terms, want at most %.2g", e.Row, e.Residual, e.Bound)
}

// r is the vector of signs.
func (v *inversion[T]) sum(y dense.Matrix[T], c, j int) {
	lo, _ := v.rows(c)
	from, to := v.rows(j)
	n := v.Q.Rows
	for i := range y.Rows {
		row := y.Row(i)[:min(lo+i+1, to)-from]
		v.sums[j*n+lo+i] = vecmath.Dot(row, v.signs[from:])
		v.sizes[j*n+lo+i] = vecmath.Dot(row, row)
	}
}

// total adds the contributions of all chunks: Y·r, and the bounds a_i = √(i+1)·‖y_i‖ of Σ_j |y_ij|.
func (v *inversion[T]) total() {
	n := v.Q.Rows
	for j := 1; j < v.chunks; j++ {
		lo, _ := v.rows(j)
		vecmath.AddScaled(v.sums[lo:n], v.sums[j*n+lo:][:n-lo], 1)
		vecmath.AddScaled(v.sizes[lo:n], v.sizes[j*n+lo:][:n-lo], 1)
	}
	for i := range n {
		v.sizes[i] = T(math.Sqrt(float64(i+1) * float64(v.sizes[i])))
	}
}

// residual compares T·(Y·r) with r [Freivalds 1979]: element i of the difference sums row i of T·Y
// − I with independent signs, and rounding is relative to the sum of magnitudes
//
//	1 + |λ_i|·a_i + ‖q_i‖·Σ_{j<i} ‖k_j‖·a_j.
func (v *inversion[T]) residual() error {
	n, d := v.Dims()
	bound := 8 * float64(n+d+inverseChunk) * vecmath.Roundoff[T]()
	z := v.z
	clear(z)
	var before float64
	for i := range n {
		q, k := v.Q.Row(i), v.K.Row(i)
		diag := v.diag(i)
		product := diag*v.sums[i] + vecmath.Dot(q, z)
		size := 1 + math.Abs(float64(diag))*float64(v.sizes[i]) + math.Sqrt(float64(vecmath.Dot(q, q)))*before
		if e := math.Abs(float64(product - v.signs[i])); e > bound*size {
			return &ResidualError{Row: i, Residual: e / size, Bound: bound}
		}
		vecmath.AddScaled(z, k, v.sums[i])
		before += math.Sqrt(float64(vecmath.Dot(k, k))) * float64(v.sizes[i])
	}
	return nil
}

// sign writes a fixed sequence of ±1 into x, the top bits of a linear congruential generator.
func sign[T float32 | float64](x []T) {
	state := uint64(1)
	for i := range x {
		state = state*6364136223846793005 + 1442695040888963407
		x[i] = 1 - 2*T(state>>63)
	}
}
