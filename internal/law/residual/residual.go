// Package residual has the interfaces of maps whose features lack a part of their kernel.
package residual

import "github.com/seed-feabd252/randfeat/dense"

type HasResidual[T dense.Float] interface {
	// Residual returns nil if ‖φ(x)‖² is or estimates k(x, x).
	Residual() Residual[T]
}

// Residual is a map whose features are those of the projections of k(x, ·) onto a subspace. So
// ‖φ(x)‖² ≤ k(x, x), and the difference is the variance given the subspace.
type Residual[T dense.Float] interface {
	// AddResiduals adds weight·k(x_i, x_i) − ‖φ_i‖² to dst_i, for the rows φ_i = √weight·φ(x_i) of
	// phi. It adds 0 if the difference may be rounding.
	AddResiduals(dst []float64, x, phi dense.Matrix[T], weight float64)
}

// Of returns the Residual of the map m, or nil.
func Of[T dense.Float](m any) Residual[T] {
	if m, ok := m.(HasResidual[T]); ok {
		return m.Residual()
	}
	return nil
}
