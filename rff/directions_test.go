package rff_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
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
		all[name] = must.Have(orf.Draw[T](e, m, d, exprand.NewSource(5)))
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
	for kind, w := range projections[T](t, m, d) {
		for _, r := range randomMaps[T]() {
			if r.name == "laplacian" {
				continue // has frequencies of its own
			}
			f, err := rff.Draw(r.spec(d, src()), w)
			a := add(r.name+" on "+kind, w, f, err)
			a.constant, a.flat, a.kinked = r.name == "dot product", r.name == "angular", r.name == "arc-cosine"
			if r.name == "SADERF" {
				add("keys of SADERF on "+kind, w, rff.Keys(f), nil)
			}
		}
	}
	alone := func(name string, s rff.Spec, w orf.Projection[T]) *direction[T] {
		f, err := rff.Draw(s, w)
		return add(name, nil, f, err)
	}
	alone("laplacian", rff.Laplacian{LengthScale: lengthScale}, must.Have(orf.Draw[T](orf.Cauchy{}, m, d, src())))
	a := alone("identity", rff.Identity{D: d}, nil)
	a.inPlace, a.constant = true, true
	alone("elu", rff.ELU{D: d}, nil)
	all[len(all)-1].inPlace, all[len(all)-2].inPlace = true, true
	alone("quadratic", rff.Quadratic{D: d}, nil)
	made := madeOfOthers[T](t, d)
	for _, name := range []string{"gaussian after narrow", "gaussian after affine", "softmax hyperbolic after narrow", "softmax hyperbolic after affine", "centred softmax trig", "centred SADERF"} {
		add(name, nil, made[name], nil)
	}
	for _, name := range []string{"affine", "narrow"} {
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
