package conformance

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/compute/vecmath"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/rff"
)

// Map checks whether m keeps the contract of rff.Map on n ≥ 2 points, the rows of x, and the
// contracts of rff.LogMap, rff.Differentiable and rff.DifferentiableLog if m has the methods of
// these interfaces. Call Map with points x like the points of your application. Map checks that
//
//   - Transform returns the shapes of Dims, a row of φ depends on its row of x alone, to the last
//     bit, Transform does not change x, and it writes every element of dst and no other element;
//   - goroutines may share m, also in Backward and LogBackward, NaN and ±Inf in a row of x lead to
//     NaN or ±Inf in its row of φ, and shapes that do not fit panic;
//   - Kernel passes kernels.Check and is not NaN at a pair of the points;
//   - φ = exp(LogTransform), up to rounding;
//   - Backward is the gradient of Transform, and LogBackward the gradient of LogTransform. The
//     gradients agree with central differences along one direction at each point, if the
//     differences at two steps agree with each other, as they do for a smooth φ;
//   - Keys of an rff.Paired map has the same dimensions and the same kernel as m, and m as its own
//     Keys. Check Keys as well if it is another map.
func Map[T dense.Float](m rff.Map[T], x dense.Matrix[T]) error {
	var f faults
	if m == nil {
		return fmt.Errorf("conformance: the map is nil")
	}
	in, out := m.Dims()
	x.Check()
	switch {
	case in < 1 || out < 1:
		return fmt.Errorf("conformance: Dims is %d, %d, want at least 1, 1", in, out)
	case x.Rows < 2 || x.Cols != in:
		return fmt.Errorf("conformance: x is %d×%d, want at least 2 points of R^%d", x.Rows, x.Cols, in)
	}
	usable := checkEstimated(&f, "Kernel", m.Kernel(), x)
	phi, ok := operation[T]{"Transform", in, out, m.Transform}.check(&f, x)
	if !ok {
		return f.err()
	}
	if back, ok := m.(rff.Differentiable[T]); ok && back.CanBackward() == nil {
		checkGradient(&f, "Backward", m.Transform, back.Backward, x, phi)
	}
	if logs, ok := m.(rff.LogMap[T]); ok {
		if logPhi, ok := (operation[T]{"LogTransform", in, out, logs.LogTransform}).check(&f, x); ok {
			checkLogarithms(&f, phi, logPhi)
			if back, ok := m.(rff.DifferentiableLog[T]); ok && back.CanBackward() == nil {
				checkGradient(&f, "LogBackward", logs.LogTransform, back.LogBackward, x, logPhi)
			}
		}
	}
	if paired, ok := m.(rff.Paired[T]); ok {
		checkPair(&f, paired, x, phi, usable)
	}
	return f.err()
}

// usable says whether the kernel of m has values, and phi is φ(x).
func checkPair[T dense.Float](f *faults, m rff.Paired[T], x, phi dense.Matrix[T], usable bool) {
	keys := m.Keys()
	if keys == nil {
		f.add("Keys is nil")
		return
	}
	in, out := m.Dims()
	if keyIn, keyOut := keys.Dims(); keyIn != in || keyOut != out {
		f.add("Keys has the dimensions %d, %d, the map %d, %d", keyIn, keyOut, in, out)
		return
	}
	if usable && checkEstimated(f, "Kernel of Keys", keys.Kernel(), x) && !sameKernel(m.Kernel(), keys.Kernel(), x) {
		f.add("Keys has another Kernel than the map")
	}
	back, ok := keys.(rff.Paired[T])
	switch {
	case !ok:
		f.add("Keys is not Paired")
	case back.Keys() == nil:
		f.add("Keys of Keys is nil")
	case !same(back.Keys().Transform(dense.Matrix[T]{}, x), phi):
		f.add("Keys of Keys is another map")
	}
}

func sameKernel[T dense.Float](a, b kernels.Kernel, x dense.Matrix[T]) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	p := dense.Copy(dense.Matrix[float64]{}, x)
	for i := range p.Rows - 1 {
		v, w := a.Eval(p.Row(i), p.Row(i+1)), b.Eval(p.Row(i), p.Row(i+1))
		if v != w && (v == v || w == w) {
			return false
		}
	}
	return true
}

// checkEstimated checks the kernel k of a map, and reports whether it is nil or has values.
func checkEstimated[T dense.Float](f *faults, name string, k kernels.Kernel, x dense.Matrix[T]) bool {
	if k == nil {
		return true
	}
	if err := kernels.Check(k); err != nil {
		f.add("%s is not valid: %w", name, err)
		return false
	}
	p := dense.Copy(dense.Matrix[float64]{}, x)
	if v := k.Eval(p.Row(0), p.Row(1)); math.IsNaN(v) {
		f.add("%s is NaN at points 0 and 1", name)
		return false
	}
	return true
}

func checkLogarithms[T dense.Float](f *faults, phi, logPhi dense.Matrix[T]) {
	for i := range phi.Rows {
		for k, v := range phi.Row(i) {
			l := float64(logPhi.At(i, k))
			want := math.Exp(l)
			if T(want) == v {
				continue
			}
			// Rounding of log φ changes φ by |log φ| units.
			tolerance := (16 + 8*math.Abs(l)) * vecmath.Roundoff[T]() * want
			if !(math.Abs(float64(v)-want) <= tolerance) && T(tolerance) != 0 {
				f.add("feature %d of point %d is %v, its logarithm %v", k, i, v, l)
				return
			}
		}
	}
}

// value is forward of x.
func checkGradient[T dense.Float](f *faults, name string, forward func(dst, x dense.Matrix[T]) dense.Matrix[T],
	backward func(dst, x, d dense.Matrix[T]) dense.Matrix[T], x, value dense.Matrix[T]) {
	rng := rand.New(rand.NewPCG(3, uint64(x.Cols)))
	weights, direction := draw[T](value.Rows, value.Cols, rng), draw[T](x.Rows, x.Cols, rng)
	gradient := backward(dense.Matrix[T]{}, x, weights)
	if gradient.Rows != x.Rows || gradient.Cols != x.Cols {
		f.add("%s is %d×%d, want %d×%d", name, gradient.Rows, gradient.Cols, x.Rows, x.Cols)
		return
	}
	checkSharing(f, name, func(by int) dense.Matrix[T] {
		return backward(dense.Matrix[T]{}, rotated(x, by), rotated(weights, by))
	})
	step := math.Cbrt(vecmath.Roundoff[T]())
	wide, wideBend := slopes(forward, x, value, direction, weights, 2*step)
	narrow, narrowBend := slopes(forward, x, value, direction, weights, step)
	for i := range x.Rows {
		// The effect of rounding of the values on a difference over 2·step.
		var size float64
		for k, v := range value.Row(i) {
			size += math.Abs(float64(v) * float64(weights.At(i, k)))
		}
		noise := 64 * vecmath.Roundoff[T]() / step * size
		tolerance := noise + 1e-2*math.Abs(narrow[i])
		if !(math.Abs(wide[i]-narrow[i]) <= tolerance) {
			continue
		}
		// At a kink, the bend is the difference of the slopes for both steps, but the bend of a
		// smooth φ doubles with the step.
		if !(math.Abs(wideBend[i]-2*narrowBend[i]) <= 4*tolerance) {
			continue
		}
		if got := inner(gradient.Row(i), direction.Row(i)); !(math.Abs(got-narrow[i]) <= 2*tolerance) {
			f.add("%s gives a slope of %v at point %d, differences %v", name, got, i, narrow[i])
			return
		}
	}
}

// slopes returns Σ_k weights_ik·(value_k(x_i + h·u_i) − value_k(x_i − h·u_i))/2h. The bend is the
// weighted sum of slopes after x_i minus the weighted sum before x_i.
func slopes[T dense.Float](forward func(dst, x dense.Matrix[T]) dense.Matrix[T], x, value, u, weights dense.Matrix[T], h float64) (slope, bend []float64) {
	up, down := x.Clone(), x.Clone()
	for i := range x.Rows {
		for j, v := range u.Row(i) {
			up.Set(i, j, x.At(i, j)+T(h)*v)
			down.Set(i, j, x.At(i, j)-T(h)*v)
		}
	}
	above, below := forward(dense.Matrix[T]{}, up), forward(dense.Matrix[T]{}, down)
	slope, bend = make([]float64, x.Rows), make([]float64, x.Rows)
	for i := range slope {
		for k, w := range weights.Row(i) {
			v := float64(value.At(i, k))
			rise, before := float64(above.At(i, k))-v, v-float64(below.At(i, k))
			slope[i] += float64(w) * (rise + before) / (2 * h)
			bend[i] += float64(w) * (rise - before) / h
		}
	}
	return slope, bend
}
