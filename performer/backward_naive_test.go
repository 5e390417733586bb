package performer_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/performer"
)

// quadratic is the O(L²) ground truth, in float64, of gradients with respect to the
// (log-)features that the maps give and to values, with bounds on their errors: sums of
// the absolute values of all terms.
type quadratic struct {
	dq, dk, dv          dense.Matrix[float64]
	sizeQ, sizeK, sizeV dense.Matrix[float64]
	x, y, v, g          dense.Matrix[float64] // features of queries and keys
	peakX, peakY        []float64             // what they are relative to in log space
	log, causal         bool
}

func newQuadratic[T dense.Float](a performer.Linear[T], in [3]dense.Matrix[T], dout dense.Matrix[T]) *quadratic {
	var none dense.Matrix[T]
	double := func(m dense.Matrix[T]) dense.Matrix[float64] { return dense.Copy(dense.Matrix[float64]{}, m) }
	p := &quadratic{log: performer.InsideOf(a).Engine.Logs, causal: performer.InsideOf(a).Options.Causal}
	p.v, p.g = double(in[2]), double(dout)
	if p.log {
		p.x, p.peakX = exponentials(double(performer.InsideOf(a).Engine.Features.Queries(none, in[0])))
		p.y, p.peakY = exponentials(double(performer.InsideOf(a).Engine.Features.Keys(none, in[1])))
	} else {
		p.x, p.y = double(performer.InsideOf(a).Query.Transform(none, in[0])), double(performer.InsideOf(a).Key.Transform(none, in[1]))
		p.peakX, p.peakY = make([]float64, p.x.Rows), make([]float64, p.y.Rows)
	}
	p.dq, p.sizeQ = dense.New[float64](p.x.Rows, performer.InsideOf(a).M), dense.New[float64](p.x.Rows, performer.InsideOf(a).M)
	p.dk, p.sizeK = dense.New[float64](p.y.Rows, performer.InsideOf(a).M), dense.New[float64](p.y.Rows, performer.InsideOf(a).M)
	p.dv, p.sizeV = dense.New[float64](p.v.Rows, p.v.Cols), dense.New[float64](p.v.Rows, p.v.Cols)
	for i := range p.x.Rows {
		p.query(i)
	}
	return p
}

// seen returns the number of keys that query i sees.
func (p *quadratic) seen(i int) int {
	if p.causal {
		return i + 1
	}
	return p.y.Rows
}

// query adds what query i gives all gradients.
func (p *quadratic) query(i int) {
	n, x, g := p.seen(i), p.x.Row(i), p.g.Row(i)
	// Weights are relative to the largest of the row.
	top := math.Inf(-1)
	for j := range n {
		top = max(top, p.peakX[i]+p.peakY[j])
	}
	// The weight of each key over that of features relative to peaks, and products of its value.
	factors, slopes, sizes := make([]float64, n), make([]float64, n), make([]float64, n)
	for j := range n {
		factors[j] = math.Exp(p.peakX[i] + p.peakY[j] - top)
		slopes[j], sizes[j] = products(g, p.v.Row(j))
	}
	var total, size, mean, meanSize float64
	for j := range n {
		w, s := products(x, p.y.Row(j))
		w, s = w*factors[j], s*factors[j]
		total, size = total+w, size+s
		mean, meanSize = mean+w*slopes[j], meanSize+s*sizes[j]
	}
	mean, meanSize = mean/total, meanSize/math.Abs(total)
	condition := size / math.Abs(total)
	dq, sizeQ := p.dq.Row(i), p.sizeQ.Row(i)
	for j := range n {
		y, f := p.y.Row(j), factors[j]/total
		c, cs := f*(slopes[j]-mean), math.Abs(f)*(sizes[j]+meanSize*condition)*condition
		w, ws := 0.0, 0.0
		dk, sizeK := p.dk.Row(j), p.sizeK.Row(j)
		for at, x := range x {
			xy := x * y[at]
			dx, dy := y[at], x
			if p.log {
				dx, dy = xy, xy
			}
			dq[at] += dx * c
			dk[at] += dy * c
			sizeQ[at] += math.Abs(dx) * cs
			sizeK[at] += math.Abs(dy) * cs
			w, ws = w+xy, ws+math.Abs(xy)
		}
		dv, sizeV := p.dv.Row(j), p.sizeV.Row(j)
		for at, z := range g {
			dv[at] += f * w * z
			sizeV[at] += math.Abs(f*ws*z) * condition
		}
	}
}

// products returns Σ x_f·y_f and Σ |x_f·y_f|.
func products(x, y []float64) (sum, size float64) {
	for f, v := range x {
		sum += v * y[f]
		size += math.Abs(v * y[f])
	}
	return sum, size
}

// jacobian returns the derivatives of each feature at points x, which Backward of the map gives for
// unit vectors.
func jacobian[T dense.Float](pull func(dx, x, slopes dense.Matrix[T]), x dense.Matrix[T], features int) []dense.Matrix[T] {
	all := make([]dense.Matrix[T], features)
	for f := range all {
		unit := dense.New[T](x.Rows, features)
		for i := range x.Rows {
			unit.Set(i, f, 1)
		}
		all[f] = dense.New[T](x.Rows, x.Cols)
		pull(all[f], x, unit)
	}
	return all
}

// through takes gradients and their sizes through the Jacobian of a map.
func through[T dense.Float](jacobian []dense.Matrix[T], slopes, size dense.Matrix[float64]) (dx, bound dense.Matrix[float64]) {
	dx, bound = dense.New[float64](slopes.Rows, jacobian[0].Cols), dense.New[float64](slopes.Rows, jacobian[0].Cols)
	for f, rows := range jacobian {
		for i := range slopes.Rows {
			to, off, slope, most := dx.Row(i), bound.Row(i), slopes.At(i, f), size.At(i, f)
			for j, v := range rows.Row(i) {
				to[j] += float64(v) * slope
				off[j] += math.Abs(float64(v)) * most
			}
		}
	}
	return dx, bound
}

// jacobians are those of the map of queries and of the map of keys, which do not depend on options.
type jacobians[T dense.Float] struct{ q, k []dense.Matrix[T] }

func newJacobians[T dense.Float](a performer.Linear[T], q, k dense.Matrix[T]) jacobians[T] {
	f := performer.InsideOf(a).Engine.Features
	return jacobians[T]{jacobian(f.PullQueries, q, performer.InsideOf(a).M), jacobian(f.PullKeys, k, performer.InsideOf(a).M)}
}

// requireGradients compares with the truth, allowing n·ε·Σ|terms| where n counts the
// roundings of a term: the sums over features, tokens, values and dimensions, and
// exponentials of arguments as large as the spread of log-features.
func requireGradients[T dense.Float](t *testing.T, a performer.Linear[T], by jacobians[T], in [3]dense.Matrix[T], dout dense.Matrix[T], format string, args ...any) {
	t.Helper()
	p := newQuadratic(a, in, dout)
	n := float64(performer.InsideOf(a).M + in[0].Rows + in[1].Rows + in[2].Cols + in[0].Cols + 32)
	for _, peaks := range [][]float64{p.peakX, p.peakY} {
		largest := 0.0
		for _, x := range peaks {
			largest = max(largest, math.Abs(x))
		}
		n += 8 * largest
	}
	dq, boundQ := through(by.q, p.dq, p.sizeQ)
	dk, boundK := through(by.k, p.dk, p.sizeK)
	got := backward[T](a, in, dout)
	for at, g := range []struct{ want, bound dense.Matrix[float64] }{{dq, boundQ}, {dk, boundK}, {p.dv, p.sizeV}} {
		size := 0.0
		for i := range g.bound.Data {
			g.bound.Data[i] = 2*n*densetest.Roundoff[T]()*g.bound.Data[i] + math.SmallestNonzeroFloat32
			size = max(size, math.Abs(g.want.Data[i]))
		}
		if densetest.Roundoff[T]() < 0x1p-50 && in[1].Rows > 1 {
			require.LessOrEqual(t, largest(g.bound), 1e-9*size+0x1p-100, "the bound is no looser than promised")
		}
		densetest.RequireClose(t, g.want, g.bound, got[at], "d"+[]string{"q ", "k ", "v "}[at]+format, args...)
	}
}

func TestBackwardEqualsQuadratic(t *testing.T) {
	t.Parallel()
	densetest.Both(t, testBackwardPairs[float32], testBackwardPairs[float64])
}

func testBackwardPairs[T dense.Float](t *testing.T) {
	const d, dv = 5, 3
	rng := rand.New(densetest.Source(210))
	for _, n := range []int{1, 63, 64, 65, 200, 400} {
		in := [3]dense.Matrix[T]{rowsOf[T](rng, n, d), stridedRows[T](rng, n, d), rowsOf[T](rng, n, dv)}
		dout := densetest.Normal[T](rng, n, dv, 0, 1)
		for _, m := range differentiableMaps[T](d) {
			if n >= 200 && m.name != "positive orf" && (n > 200 || m.name != "gaussian" && m.name != "elu") {
				continue
			}
			by := newJacobians(attention(m.Map, performer.LinearOptions{}), in[0], in[1])
			for _, opts := range forms {
				requireGradients(t, attention(m.Map, opts), by, in, dout, "%s %+v L=%d", m.name, opts, n)
			}
		}
	}
}
