package rff_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// direction is a map, or the logarithm of one, both ways.
type direction[T dense.Float] struct {
	name     string
	in, out  int
	flat     bool // the derivative is 0
	kinked   bool // it or its slope jumps where wᵀx = 0
	constant bool // it does not depend on x
	inPlace  bool // dst may be x or the gradient
	argument string
	w        dense.Matrix[T] // frequencies, if there are any
	forward  func(dst, x dense.Matrix[T]) dense.Matrix[T]
	backward func(dst, x, g dense.Matrix[T]) dense.Matrix[T]
}

// projections are m frequencies of R^d of every kind, the last behind an
// interface that knows nothing of transposing.
func projections[T dense.Float](t testing.TB, m, d int) map[string]orf.Projection[T] {
	all := map[string]orf.Projection[T]{}
	for name, e := range map[string]orf.Ensemble{
		"iid": orf.IID{}, "orthogonal": orf.GramSchmidt{}, "hadamard": orf.Hadamard{}, "givens": orf.Givens{},
	} {
		w, err := orf.Draw[T](e, m, d, exprand.NewSource(5))
		require.NoError(t, err)
		all[name] = w
	}
	all["plain"] = struct{ orf.Projection[T] }{all["orthogonal"]}
	all["transposer"] = untiled[T]{all["iid"].(orf.Transposer[T])}
	return all
}

// untiled is a projection that knows its transpose and no tiles.
type untiled[T dense.Float] struct{ orf.Transposer[T] }

// directions are all maps of R^d on every kind of projection with m frequencies.
func directions[T dense.Float](t testing.TB, m, d int) []direction[T] {
	var all []direction[T]
	add := func(name string, w orf.Projection[T], m rff.Map[T], err error) *direction[T] {
		require.NoError(t, err, name)
		f := slopes(m)
		require.NoError(t, f.CanBackward(), name)
		in, out := f.Dims()
		a := direction[T]{name: name, in: in, out: out, argument: "dphi", forward: f.Transform, backward: f.Backward}
		if w != nil {
			a.w = w.Frequencies()
		}
		all = append(all, a)
		if l, ok := f.(rff.DifferentiableLog[T]); ok {
			a.name, a.argument, a.forward, a.backward = "log "+name, "dlog", l.LogTransform, l.LogBackward
			all = append(all, a)
		}
		return &all[len(all)-1]
	}
	src := func() rand.Source { return exprand.NewSource(6) }
	x, y := fitPoints[T](iidOf[T](t, 1, d))
	for kind, w := range projections[T](t, m, d) {
		on := func(name string, f rff.Map[T], err error) *direction[T] {
			return add(name+" on "+kind, w, f, err)
		}
		dot, err := rff.DotProduct(w)
		on("dot product", dot, err).constant = true
		gaussian, err := rff.Gaussian(w, lengthScale)
		on("gaussian", gaussian, err)
		phase, err := rff.GaussianPhase(w, lengthScale, src())
		on("gaussian phase", phase, err)
		for _, nu := range []float64{0.5, 1.5, 2.5} {
			matern, err := rff.Matern(w, nu, lengthScale, src())
			on("matern", matern, err)
		}
		trig, err := rff.SoftmaxTrig(w, scaleOf)
		on("softmax trig", trig, err)
		positive, err := rff.SoftmaxPositive(w, scaleOf)
		on("softmax positive", positive, err)
		hyperbolic, err := rff.SoftmaxHyperbolic(w, scaleOf)
		on("softmax hyperbolic", hyperbolic, err)
		optimal, err := rff.SoftmaxOptimal(w, scaleOf, damping)
		on("softmax optimal", optimal, err)
		saderf, err := rff.SADERF(w, x, y, scaleOf)
		on("saderf", saderf, err)
		on("keys of saderf", rff.Keys[T](saderf), nil)
		aderf, err := rff.ADERF(w, x, y, scaleOf)
		on("aderf", aderf, err)
		sderf, err := rff.SDERF(w, x, y, scaleOf)
		on("sderf", sderf, err)
		near, err := rff.GaussianPositive(w, lengthScale)
		on("gaussian positive", near, err)
		both, err := rff.GaussianHyperbolic(w, lengthScale)
		on("gaussian hyperbolic", both, err)
		damped, err := rff.GaussianOptimal(w, lengthScale, damping)
		on("gaussian optimal", damped, err)
		angular, err := rff.Angular(w)
		on("angular", angular, err).flat = true
		for order := range 3 {
			arc, err := rff.ArcCosine(w, order)
			a := on("arc-cosine", arc, err)
			a.flat, a.kinked = order == 0, order > 0
		}
		cos := func(t T) T { return T(math.Cos(float64(t))) }
		minusSin := func(t T) T { return -T(math.Sin(float64(t))) }
		square, double := func(t T) T { return t * t }, func(t T) T { return 2 * t }
		scheme := rff.Scheme[T]{F: []func(T) T{cos, square}, DF: []func(T) T{minusSin, double}}
		plain, err := rff.New(w, scheme)
		on("new", plain, err)
		scheme.H = func(x []T) T { return 1 + x[0]*x[0] + x[0]*x[len(x)-1] }
		scheme.DH = func(dst, x []T) {
			clear(dst)
			dst[0] = 2*x[0] + x[len(x)-1]
			dst[len(x)-1] += x[0]
		}
		withH, err := rff.New(w, scheme)
		on("new with h", withH, err)
	}
	laplacian, err := rff.Laplacian[T](m, d, lengthScale, src())
	add("laplacian", nil, laplacian, err)
	boxes, err := rff.Boxes[T](boxKernel(d, 30), m, src())
	add("boxes", nil, boxes, err).flat = true
	identity, err := rff.Identity[T](d)
	a := add("identity", nil, identity, err)
	a.inPlace, a.constant = true, true
	elu, err := rff.ELU[T](d)
	add("elu", nil, elu, err)
	all[len(all)-1].inPlace, all[len(all)-2].inPlace = true, true
	quadratic, err := rff.Quadratic[T](d)
	add("quadratic", nil, quadratic, err)
	taylor, err := rff.Taylor[T](d, scaleOf)
	add("taylor", nil, taylor, err)
	made := madeOfOthers[T](t, d)
	for _, name := range []string{"gaussian after pca", "gaussian after affine", "softmax hyperbolic after pca", "softmax hyperbolic after affine", "centred softmax trig", "centred SADERF"} {
		add(name, nil, made[name], nil)
	}
	for _, name := range []string{"affine", "pca"} {
		add(name, nil, made[name], nil).constant = true
	}
	return all
}

// nearKink reports whether a projection of x is so small that a step may change
// its sign.
func (a *direction[T]) nearKink(x []T, step float64) bool {
	if !a.kinked && !a.flat {
		return false
	}
	for k := range a.w.Rows {
		var t float64
		for j, v := range a.w.Row(k) {
			t += float64(v) * float64(x[j])
		}
		if math.Abs(t) < step {
			return true
		}
	}
	return false
}
