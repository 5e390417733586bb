package performer

import (
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/pool"
	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
	"github.com/seed-feabd252/randfeat/performer/internal/nystroem"
	"github.com/seed-feabd252/randfeat/performer/internal/sequence"
	"github.com/seed-feabd252/randfeat/performer/internal/sums"
)

// mostDoubled is the largest dimension for which landmarks of float32 points are computed in
// float64. In few dimensions landmarks lie so close together that G⁻¹ magnifies the rounding of
// float32 beyond the weights of short queries.
const mostDoubled = 4

// inDouble reports whether points of dimension d are computed in float64.
func (l *landmarks[T]) inDouble(d int) bool { return l.double != nil && d <= mostDoubled }

// setDouble sets l.double of float32 landmarks to the same attention in float64.
func (l *landmarks[T]) setDouble() {
	if _, single := any(l).(*landmarks[float32]); !single || l.d > mostDoubled {
		return
	}
	exact := exact[float64]{ExactOptions{Scale: l.exact.Scale, Unnormalised: l.exact.Unnormalised}}
	to := &landmarks[float64]{exact: exact, n: l.n, seed: l.seed, d: l.d}
	if m := l.means; m != nil {
		to.means = &nystroem.Means[float64]{Query: doubled(m.Query), Key: doubled(m.Key), Absolute: m.Absolute}
	}
	if l.set != nil {
		to.z = dense.Copy(dense.Matrix[float64]{}, l.z)
		set, err := nystroem.At(exact.scale(l.d), to.z, to.means)
		if err != nil {
			panic(err) // norms are within the range of float32
		}
		to.set = set
	}
	to.setEngine()
	l.double = to
}

func doubled[T dense.Float](x []T) []float64 {
	to := make([]float64, len(x))
	for i, v := range x {
		to[i] = float64(v)
	}
	return to
}

// doubles is memory for the inputs and results of a call in float64.
type doubles struct{ memory [7]scratch.Buffer[float64] }

// room returns a rows×cols matrix of any content.
func (d *doubles) room(at, rows, cols int) dense.Matrix[float64] {
	d.memory[at].Shape(rows, cols)
	return d.memory[at].Rows(rows)
}

// forwardDouble is Forward in float64.
func (l *landmarks[T]) forwardDouble(c sequence.Call[T]) {
	d, n, rows := doublesOfCalls.Get(), c.Q.Heads, c.Q.Rows
	wide := sequence.Call[float64]{
		Out: dense.SplitHeads(d.room(0, rows, n*c.Out.Cols), 1, n), Q: dense.SplitHeads(d.room(1, rows, n*c.Q.Cols), 1, n),
		K: dense.Copy(d.room(2, c.K.Rows, c.K.Cols), c.K), V: dense.Copy(d.room(3, c.V.Rows, c.V.Cols), c.V),
	}
	for h := range n {
		dense.Copy(wide.Query(h), c.Query(h))
	}
	l.double.Forward(wide)
	for h := range n {
		dense.Copy(c.Output(h), wide.Output(h))
	}
	doublesOfCalls.Put(d)
}

// backwardDouble is backward in float64.
func (l *landmarks[T]) backwardDouble(g *sums.Gradients[T]) {
	d := doublesOfCalls.Get()
	wide := sums.Gradients[float64]{
		DQ: d.room(0, g.DQ.Rows, g.DQ.Cols), DK: d.room(1, g.DK.Rows, g.DK.Cols), DV: d.room(2, g.DV.Rows, g.DV.Cols),
		Q: dense.Copy(d.room(3, g.Q.Rows, g.Q.Cols), g.Q), K: dense.Copy(d.room(4, g.K.Rows, g.K.Cols), g.K),
		V: dense.Copy(d.room(5, g.V.Rows, g.V.Cols), g.V), DOut: dense.Copy(d.room(6, g.DOut.Rows, g.DOut.Cols), g.DOut),
	}
	l.double.backward(&wide)
	dense.Copy(g.DQ, wide.DQ)
	dense.Copy(g.DK, wide.DK)
	dense.Copy(g.DV, wide.DV)
	doublesOfCalls.Put(d)
}

var doublesOfCalls pool.Of[doubles]
