package recurrence_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/recurrence"
	"github.com/seed-feabd252/randfeat/rff"
)

// BenchmarkRecurrence times 4096 tokens of heads with dk = dv = d, with a decay for each head or
// for each row of the sums, and beside them causal linear attention with as many features of elu+1.
// Names read
//
//	BenchmarkRecurrence/rule=delta/type=float32/h=8/L=4096/d=64
func BenchmarkRecurrence(b *testing.B) {
	b.Run("rule=causal", func(b *testing.B) {
		b.Run("type=float32/h=8/L=4096/d=64", benchmarkCausal[float32])
		b.Run("type=float64/h=8/L=4096/d=64", benchmarkCausal[float64])
	})
	eachRecurrence(func(rule recurrence.Rule, wide bool) {
		b.Run(ruleName(rule, wide), func(b *testing.B) {
			for _, h := range []int{8, 1} {
				for _, d := range []int{64, 128} {
					shape := recurrenceShape{heads: h, keyHeads: h, d: d, dv: d, wide: wide}
					b.Run(fmt.Sprintf("type=float32/h=%d/L=4096/d=%d", h, d), func(b *testing.B) { benchmarkRecurrence[float32](b, rule, shape) })
					b.Run(fmt.Sprintf("type=float64/h=%d/L=4096/d=%d", h, d), func(b *testing.B) { benchmarkRecurrence[float64](b, rule, shape) })
				}
			}
		})
	})
}

// ruleName returns the part of a name that tells the rule and the decays.
func ruleName(rule recurrence.Rule, wide bool) string {
	name := "rule=" + rule.String()
	if wide {
		name += "/decay=rows"
	}
	return name
}

const benchmarkTokens = 4096

func benchmarkCausal[T dense.Float](b *testing.B) {
	x := convertTokens[T](recurrenceShape{heads: 8, keyHeads: 8, d: 64, dv: 64}.tokens(rand.New(densetest.Source(310)), recurrence.Linear, benchmarkTokens))
	batch := must.Have(performer.NewBatch[T](performer.BatchOptions{Heads: 8}, must.Have(performer.NewLinear[T](must.Have(rff.Draw[T](rff.ELU{D: 64}, nil)), performer.LinearOptions{Causal: true}))))
	dst := dense.New[T](benchmarkTokens, 8*64)
	benchmarkCalls(b, func() { batch.ForwardSequences(dst, x.Q, x.K, x.V, performer.Sequences{}) })
}

func benchmarkRecurrence[T dense.Float](b *testing.B, rule recurrence.Rule, shape recurrenceShape) {
	x := convertTokens[T](shape.tokens(rand.New(densetest.Source(310)), rule, benchmarkTokens))
	r := must.Have(recurrence.New[T](recurrence.Options{Heads: shape.heads, KeyHeads: shape.keyHeads, Rule: rule}))
	dst := dense.New[T](benchmarkTokens, shape.heads*shape.dv)
	benchmarkCalls(b, func() { r.Forward(dst, x, dense.Matrix[T]{}, dense.Matrix[T]{}) })
}

// benchmarkCalls times f once its scratch memory is there.
func benchmarkCalls(b *testing.B, f func()) {
	for range 3 {
		f()
	}
	b.ReportAllocs()
	for b.Loop() {
		f()
	}
	b.ReportMetric(benchmarkTokens*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}

// BenchmarkRecurrenceBackward times the gradients of the same. Names read
//
//	BenchmarkRecurrenceBackward/rule=delta/type=float32/h=8/L=4096/d=64
func BenchmarkRecurrenceBackward(b *testing.B) {
	eachRecurrence(func(rule recurrence.Rule, wide bool) {
		b.Run(ruleName(rule, wide)+"/type=float32/h=8/L=4096/d=64", func(b *testing.B) { benchmarkRecurrenceBackward[float32](b, rule, wide) })
	})
}

func benchmarkRecurrenceBackward[T dense.Float](b *testing.B, rule recurrence.Rule, wide bool) {
	var none dense.Matrix[T]
	x := convertTokens[T](recurrenceShape{heads: 8, keyHeads: 8, d: 64, dv: 64, wide: wide}.tokens(rand.New(densetest.Source(310)), rule, benchmarkTokens))
	r := must.Have(recurrence.New[T](recurrence.Options{Heads: 8, Rule: rule}))
	dout := densetest.Normal[T](rand.New(densetest.Source(311)), benchmarkTokens, 8*64, 0, 1)
	dx := r.Backward(recurrence.Tokens[T]{}, none, x, none, dout, none)
	benchmarkCalls(b, func() { r.Backward(dx, none, x, none, dout, none) })
}
