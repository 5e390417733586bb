package performer_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/memory/layout"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/performer"
)

// probe is a plain map that now and then measures the live heap. Its derivatives are zero.
type probe struct {
	rowMap[float64]
	calls int
	peak  uint64
}

func (p *probe) Transform(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
	if p.calls%128 == 0 {
		p.peak = max(p.peak, liveHeap())
	}
	p.calls++
	return p.rowMap.Transform(dst, x)
}

func (p *probe) CanBackward() error { return nil }

func (p *probe) Kernel() kernels.Kernel { return kernels.DotProduct{} }

func (p *probe) Backward(dst, _, _ dense.Matrix[float64]) dense.Matrix[float64] {
	layout.Zero(dst)
	return dst
}

// liveHeap returns the bytes in use. What a pool keeps survives one collection.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC()
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// φ(K) alone would take 16 MB at the greater length.
func TestWorkspaceDoesNotGrowWithLength(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, opts := range forms {
		for _, backward := range []bool{false, true} {
			use := func(n int) float64 {
				p := &probe{rowMap: rowMap[float64]{in: 2, out: 32, row: func(phi, x []float64) {
					for f := range phi {
						phi[f] = 1 + x[0]*x[0]
					}
				}}}
				a := attention(p, opts)
				q, dq, dk, dv := dense.New[float64](n, 2), dense.New[float64](n, 2), dense.New[float64](n, 2), dense.New[float64](n, 2)
				before := liveHeap()
				if backward {
					a.Backward(dq, dk, dv, q, q, q, q)
				} else {
					a.Forward(dq, q, q, q)
				}
				runtime.KeepAlive([]dense.Matrix[float64]{q, dq, dk, dv})
				return float64(p.peak) - float64(before)
			}
			short, long := use(4096), use(65536)
			assert.Less(t, long, short+1<<20, "%+v, backward %v: bytes beyond inputs and results", opts, backward)
			assert.Less(t, long, float64(2<<20), "%+v, backward %v", opts, backward)
		}
	}
}

// A tile of exact attention here takes 187 kB, one for each goroutine; what is
// left for each block of queries is the 52 kB that its products take.
func TestExactWorkspace(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const blocks = 64
	q, k := dense.New[float32](blocks*performer.Block, 2), dense.New[float32](64, 2)
	v, dst := dense.New[float32](64, 200), dense.New[float32](blocks*performer.Block, 200)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	must.Have(performer.NewExact[float32](performer.ExactOptions{})).Forward(dst, q, k, v)
	runtime.ReadMemStats(&after)
	assert.Less(t, (after.TotalAlloc-before.TotalAlloc)/blocks, uint64(100_000))
}
