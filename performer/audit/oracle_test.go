//go:build linux

package audit_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/npy"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/audit"
	"github.com/seed-feabd252/randfeat/performer/blocks"
)

// BenchmarkOracle compares the choice of Choose for each head with the fastest of 8 bits and of all
// thresholds of blocks whose error is within the tolerance. RANDFEAT_HEADS is a folder of folders
// that transformer -save has written. Metrics are
//
//	chosen, fastest   how many times as fast as exact attention: geometric means over heads
//	within            heads with an error of the choice within the tolerance
//	calls, predicted  the cost of a search in calls of exact attention, the largest of a head
//
// Times are the least processor times of calls in turns, and settings of equal outputs share one:
// on a busy machine two times of one setting may differ by a fifth.
func BenchmarkOracle(b *testing.B) {
	folder := os.Getenv("RANDFEAT_HEADS")
	if folder == "" {
		b.Skip("RANDFEAT_HEADS names no folder, which transformer -save writes")
	}
	heads := savedHeads(b, folder)
	for _, n := range []int{2048, 8192} {
		for _, causal := range []bool{true, false} {
			for _, tolerance := range []float64{0.02, 0.05, 0.1, 0.2} {
				b.Run(fmt.Sprintf("causal=%v/L=%d/within=%v", causal, n, tolerance), func(b *testing.B) {
					for b.Loop() {
						benchmarkOracle(b, heads, n, causal, tolerance)
					}
				})
			}
		}
	}
}

func benchmarkOracle(b *testing.B, heads [][3]dense.Matrix[float32], n int, causal bool, tolerance float64) {
	var none dense.Matrix[float32]
	softmax := performer.Softmax{Causal: causal}
	exact := must.Have(performer.NewExact[float32](performer.ExactOptions{Softmax: softmax}))
	bits := must.Have(performer.NewExact[float32](performer.ExactOptions{Softmax: softmax, Bits: 8}))
	var logs [2]float64
	within, calls, predicted := 0, 0.0, 0.0
	for i, x := range heads {
		q, k, v := x[0].RowRange(0, n), x[1].RowRange(0, n), x[2].RowRange(0, n)
		want := exact.Forward(none, q, k, v)
		var c audit.Choice[float32]
		searching := processorTime(func() {
			c = must.Have(audit.Choose(b.Context(), softmax, q, k, v, tolerance, audit.ChooseOptions{Calls: 1000, Budget: 5, Reproducible: true}, rand.NewPCG(1, uint64(i))))
		})
		out := c.Attention.Forward(none, q, k, v)
		if distance(out, want) <= tolerance {
			within++
		}
		all := []performer.Attention[float32]{exact, c.Attention, largestThreshold(softmax, q, k, v, want, tolerance)}
		if distance(bits.Forward(none, q, k, v), want) <= tolerance {
			all = append(all, bits)
		}
		times := slices.Repeat([]float64{math.Inf(1)}, len(all))
		for range 5 {
			for j, a := range all {
				times[j] = min(times[j], processorTime(func() { a.Forward(none, q, k, v) }))
			}
		}
		for j, a := range all[2:] { // the choice, or a setting of equal outputs, which take as long
			if slices.Equal(a.Forward(none, q, k, v).Data, out.Data) {
				times[1] = min(times[1], times[2+j])
			}
		}
		best := slices.Min(times)
		logs[0] += math.Log(times[0]/times[1]) / float64(len(heads))
		logs[1] += math.Log(times[0]/best) / float64(len(heads))
		calls, predicted = max(calls, searching/times[0]), max(predicted, c.Cost)
	}
	b.ReportMetric(math.Exp(logs[0]), "chosen")
	b.ReportMetric(math.Exp(logs[1]), "fastest")
	b.ReportMetric(float64(within), "within")
	b.ReportMetric(calls, "calls")
	b.ReportMetric(predicted, "predicted")
}

// largestThreshold returns attention by blocks with the largest threshold within the tolerance, or
// exact attention.
func largestThreshold(s performer.Softmax, q, k, v, want dense.Matrix[float32], tolerance float64) performer.Attention[float32] {
	var thresholds []float64
	for t := 0.7; t >= 0.002; t /= 1.25 {
		thresholds = append(thresholds, t)
	}
	rows := make([]int, q.Rows)
	for i := range rows {
		rows[i] = i
	}
	o := blocks.Options{Softmax: s, EightBits: true, Threshold: thresholds[0]}
	outs, _ := must.Have(blocks.New[float32](o)).ForwardThresholds(q, k, v, rows, thresholds)
	within := slices.IndexFunc(outs, func(out dense.Matrix[float32]) bool { return distance(out, want) <= tolerance })
	if within < 0 {
		return must.Have(performer.NewExact[float32](performer.ExactOptions{Softmax: s}))
	}
	o.Threshold = thresholds[within]
	return must.Have(blocks.New[float32](o))
}

// savedHeads returns queries, keys and values of the heads in all folders of a folder.
func savedHeads(b *testing.B, folder string) (all [][3]dense.Matrix[float32]) {
	files, err := filepath.Glob(filepath.Join(folder, "*", "q.npy"))
	require.NoError(b, err)
	require.NotEmpty(b, files, "folders with q.npy in %s", folder)
	for _, file := range files {
		first := len(all)
		for i, name := range []string{"q.npy", "k.npy", "v.npy"} {
			data, shape, err := npy.ReadFile[float32](filepath.Join(filepath.Dir(file), name))
			require.NoError(b, err)
			for h := range shape[0] {
				if i == 0 {
					all = append(all, [3]dense.Matrix[float32]{})
				}
				all[first+h][i] = dense.Of(shape[1], shape[2], data[h*shape[1]*shape[2]:][:shape[1]*shape[2]])
			}
		}
	}
	return all
}

// processorTime returns the processor time of a call in seconds, which other programs on a busy
// machine change little.
func processorTime(call func()) float64 {
	used := func() time.Duration {
		var r syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	before := used()
	call()
	return (used() - before).Seconds()
}
