package conformance_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/validate/conformance"
)

// faulty is a projection with one fault.
type faulty struct {
	orf.Transposer[float64]
	frequencies func() dense.Matrix[float64]
	project     func(dst, x dense.Matrix[float64]) dense.Matrix[float64]
}

func (p faulty) Frequencies() dense.Matrix[float64] { return p.frequencies() }
func (p faulty) Project(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
	return p.project(dst, x)
}

// The checks find each fault and report no other fault.
func TestFaultyProjections(t *testing.T) {
	drawn := must.Have(orf.Draw[float64](orf.IID{}, 6, 5, exprand.NewSource(1)))
	right := drawn.(orf.Transposer[float64])
	own := right.Frequencies()
	type matrix = dense.Matrix[float64]
	// after returns a fault of the results of Project.
	after := func(change func(dst, x matrix)) func(p *faulty) {
		return func(p *faulty) {
			p.project = func(dst, x matrix) matrix {
				dst = right.Project(dst, x)
				change(dst, x)
				return dst
			}
		}
	}
	var mu sync.Mutex
	calls := 0.0
	for want, plant := range map[string]func(p *faulty){
		"": func(*faulty) {},
		"Frequencies is not a copy": func(p *faulty) {
			p.frequencies = func() dense.Matrix[float64] { return own }
		},
		"Frequencies is 5×6, want 6×5": func(p *faulty) {
			p.frequencies = func() dense.Matrix[float64] { return dense.New[float64](5, 6) }
		},
		"frequency 2 is not finite": func(p *faulty) {
			p.frequencies = func() dense.Matrix[float64] {
				w := right.Frequencies()
				w.Set(2, 1, math.Inf(1))
				return w
			}
		},
		"Project gives": after(func(dst, x matrix) {
			for i := range dst.Rows {
				dst.Set(i, 3, dst.At(i, 3)*(1+1e-9))
			}
		}),
		"depends on the other rows": after(func(dst, x matrix) {
			if dst.Rows == 1 {
				dst.Set(0, 3, math.Nextafter(dst.At(0, 3), 100))
			}
		}),
		"writes its argument": after(func(dst, x matrix) {
			if x.Rows > 0 {
				x.Set(0, 0, x.At(0, 0)+1)
			}
		}),
		"writes beside its destination": func(p *faulty) {
			p.project = func(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
				if dst.Rows > 0 && dst.Stride > dst.Cols {
					dst.Data[:dst.Cols+1][dst.Cols] = 0
				}
				return right.Project(dst, x)
			}
		},
		"into a view is not": func(p *faulty) {
			p.project = func(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
				if dst.Rows > 0 && dst.Stride > dst.Cols {
					return dst
				}
				return right.Project(dst, x)
			}
		},
		"shared by goroutines": after(func(dst, x matrix) {
			mu.Lock()
			defer mu.Unlock()
			if calls++; dst.Rows > 60 && calls > 5 {
				dst.Set(0, 0, calls)
			}
		}),
		"hides +Inf in coordinate 0": after(func(dst, _ matrix) {
			replace(dst, func(v float64) bool { return math.IsInf(v, 0) }, math.MaxFloat64)
		}),
		"hides NaN in coordinate 0": after(func(dst, _ matrix) { replace(dst, math.IsNaN, 0) }),
		"does not panic for points of another dimension": func(p *faulty) {
			p.project = func(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
				return right.Project(dst, x.ColRange(0, 5))
			}
		},
	} {
		p := faulty{right, right.Frequencies, right.Project}
		plant(&p)
		err := conformance.Projection[float64](p)
		if want == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, want)
		}
	}
	assert.EqualError(t, conformance.Projection[float64](nil), "conformance: the projection is nil")
}

// replace sets the elements that are found to v.
func replace(dst dense.Matrix[float64], found func(v float64) bool, v float64) {
	for i := range dst.Rows {
		for j, x := range dst.Row(i) {
			if found(x) {
				dst.Set(i, j, v)
			}
		}
	}
}

// mapping is a map with one fault.
type mapping struct {
	rff.DifferentiableLog[float64]
	kernel    kernels.Kernel
	faults    func(phi dense.Matrix[float64])
	factor    float64 // of LogBackward
	logarithm float64 // added to log φ
	keys      func(m mapping) rff.Map[float64]
}

func (m mapping) Kernel() kernels.Kernel { return m.kernel }
func (m mapping) Keys() rff.Map[float64] {
	if m.keys == nil {
		return m
	}
	return m.keys(m)
}
func (m mapping) Transform(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
	dst = m.DifferentiableLog.Transform(dst, x)
	if m.faults != nil {
		m.faults(dst)
	}
	return dst
}
func (m mapping) LogTransform(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
	dst = m.DifferentiableLog.LogTransform(dst, x)
	for i := range dst.Rows {
		for k := range dst.Row(i) {
			dst.Set(i, k, dst.At(i, k)+m.logarithm)
		}
	}
	return dst
}
func (m mapping) LogBackward(dst, x, d dense.Matrix[float64]) dense.Matrix[float64] {
	dst = m.DifferentiableLog.LogBackward(dst, x, d)
	for i := range dst.Rows {
		for j := range dst.Row(i) {
			dst.Set(i, j, m.factor*dst.At(i, j))
		}
	}
	return dst
}

func TestFaultyMaps(t *testing.T) {
	w := must.Have(orf.Draw[float64](orf.IID{}, 6, 5, exprand.NewSource(1)))
	positive := must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, w))
	right := positive.(rff.DifferentiableLog[float64])
	x := cloud[float64](40, 5)
	wider := must.Have(rff.Draw(rff.SoftmaxHyperbolic{Scale: 1}, w))
	alone := must.Have(rff.Nystroem(kernels.Softmax{}, cloud[float64](6, 5)))
	// other is a correctly Paired map of keys with one fault.
	other := func(plant func(keys, queries *mapping)) func(m mapping) rff.Map[float64] {
		return func(m mapping) rff.Map[float64] {
			keys := mapping{DifferentiableLog: right, kernel: right.Kernel(), factor: 1, keys: func(mapping) rff.Map[float64] { return m }}
			plant(&keys, &m)
			return keys
		}
	}
	for want, plant := range map[string]func(m *mapping){
		"":                    func(*mapping) {},
		"Kernel is not valid": func(m *mapping) { m.kernel = kernels.Gaussian{LengthScale: -1} },
		"Kernel is NaN":       func(m *mapping) { m.kernel = nowhere{} },
		"its logarithm":       func(m *mapping) { m.logarithm = 1e-9 },
		"LogBackward gives":   func(m *mapping) { m.factor = 1.05 },
		"Backward gives": func(m *mapping) {
			m.faults = func(phi dense.Matrix[float64]) {
				for i := range phi.Rows {
					for k, v := range phi.Row(i) {
						phi.Set(i, k, 1.05*v)
					}
				}
			}
		},
		"Keys is nil": func(m *mapping) { m.keys = func(mapping) rff.Map[float64] { return nil } },
		"Keys has the dimensions 5, 12, the map 5, 6": func(m *mapping) {
			m.keys = func(mapping) rff.Map[float64] { return wider }
		},
		"Keys is not Paired": func(m *mapping) { m.keys = func(mapping) rff.Map[float64] { return alone } },
		"Keys has another Kernel than the map": func(m *mapping) {
			m.keys = other(func(keys, _ *mapping) { keys.kernel = kernels.Softmax{Gamma: 1.1} })
		},
		"Kernel of Keys is not valid": func(m *mapping) {
			m.keys = other(func(keys, _ *mapping) { keys.kernel = kernels.Softmax{Gamma: -1} })
		},
		"Keys of Keys is nil": func(m *mapping) {
			m.keys = other(func(keys, _ *mapping) { keys.keys = func(mapping) rff.Map[float64] { return nil } })
		},
		"Keys of Keys is another map": func(m *mapping) {
			m.keys = other(func(_, queries *mapping) {
				queries.faults = func(phi dense.Matrix[float64]) { phi.Set(0, 0, 1+phi.At(0, 0)) }
			})
		},
	} {
		m := mapping{DifferentiableLog: right, kernel: right.Kernel(), factor: 1}
		plant(&m)
		err := conformance.Map[float64](m, x)
		if want == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, want)
		}
	}
	assert.EqualError(t, conformance.Map[float64](nil, x), "conformance: the map is nil")
	assert.EqualError(t, conformance.Map[float64](right, x.ColRange(0, 4)), "conformance: x is 40×4, want at least 2 points of R^5")
	assert.EqualError(t, conformance.Map[float64](right, x.RowRange(0, 1)), "conformance: x is 1×5, want at least 2 points of R^5")
}

// sharedScratch returns f with results that pass through memory that all calls share.
func sharedScratch(f func(dst, x dense.Matrix[float64]) dense.Matrix[float64]) func(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
	var mu sync.Mutex // for the race detector
	scratch := map[[2]int]dense.Matrix[float64]{}
	return func(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
		dst = f(dst, x)
		side := [2]int{dst.Rows, dst.Cols}
		mu.Lock()
		scratch[side] = dense.Copy(scratch[side], dst)
		mu.Unlock()
		runtime.Gosched()
		mu.Lock()
		defer mu.Unlock()
		return dense.Copy(dst, scratch[side])
	}
}

// sharing is a map of which one function has shared scratch memory.
type sharing struct {
	rff.DifferentiableLog[float64]
	transform, logTransform func(dst, x dense.Matrix[float64]) dense.Matrix[float64]
	logBackward             func(dst, x, d dense.Matrix[float64]) dense.Matrix[float64]
}

func (m sharing) Transform(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
	return m.transform(dst, x)
}

func (m sharing) LogTransform(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
	return m.logTransform(dst, x)
}

func (m sharing) LogBackward(dst, x, d dense.Matrix[float64]) dense.Matrix[float64] {
	return m.logBackward(dst, x, d)
}

// The checks find scratch memory that goroutines share without the race detector. On one processor
// a goroutine that yields lets another goroutine run.
func TestSharedScratch(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	w := must.Have(orf.Draw[float64](orf.IID{}, 6, 5, exprand.NewSource(1)))
	positive := must.Have(rff.Draw(rff.SoftmaxPositive{Scale: 1}, w))
	right, x := positive.(rff.DifferentiableLog[float64]), cloud[float64](40, 5)
	for name, plant := range map[string]func(m *sharing){
		"Transform":    func(m *sharing) { m.transform = sharedScratch(m.transform) },
		"LogTransform": func(m *sharing) { m.logTransform = sharedScratch(m.logTransform) },
		"LogBackward": func(m *sharing) {
			scratch := sharedScratch(func(_, d dense.Matrix[float64]) dense.Matrix[float64] { return d.Clone() })
			m.logBackward = func(dst, x, d dense.Matrix[float64]) dense.Matrix[float64] {
				return right.LogBackward(dst, x, scratch(dense.Matrix[float64]{}, d))
			}
		},
	} {
		m := sharing{right, right.Transform, right.LogTransform, right.LogBackward}
		plant(&m)
		assert.EqualError(t, conformance.Map[float64](m, x), "conformance: "+name+" gives another result when it is shared by goroutines")
	}

	own := w.(orf.Transposer[float64])
	p := faulty{own, own.Frequencies, sharedScratch(own.Project)}
	assert.EqualError(t, conformance.Projection[float64](p), "conformance: Project gives another result when it is shared by goroutines")

	var last atomic.Uint64
	k := function(func(x, y []float64) float64 {
		last.Store(math.Float64bits(kernels.Gaussian{}.Eval(x, y)))
		runtime.Gosched()
		return math.Float64frombits(last.Load())
	})
	assert.ErrorContains(t, conformance.Kernel(k, x), "conformance: Eval gives another result when it is shared by goroutines")
}

// nowhere is a kernel without values.
type nowhere struct{}

func (nowhere) Eval(_, _ []float64) float64 { return math.NaN() }

// function is a kernel of the user.
type function func(x, y []float64) float64

func (f function) Eval(x, y []float64) float64 { return f(x, y) }

func TestFaultyKernels(t *testing.T) {
	right := func(x, y []float64) float64 { return kernels.Gaussian{}.Eval(x, y) }
	var calls atomic.Int64
	x := cloud[float64](20, 3)
	assert.NoError(t, conformance.Kernel(function(right), x))
	for want, k := range map[string]function{
		"not a kernel: k(x":                           func(x, y []float64) float64 { return right(x, y) + x[0] },
		"not a kernel: the Gram matrix is indefinite": func(x, y []float64) float64 { return -right(x, y) },
		"for the same points": func(x, y []float64) float64 {
			if n := calls.Add(1); n > 400 { // past the check of the Gram matrix
				return right(x, y) * (1 + 1e-10*float64(n))
			}
			return right(x, y)
		},
		"writes its arguments": func(x, y []float64) float64 {
			v := right(x, y)
			if len(x) > 0 {
				x[0] *= 1 + 1e-15
			}
			return v
		},
		"hides a NaN in coordinate 2": func(x, y []float64) float64 { return right(x[:2], y[:2]) },
		"does not panic for points of different lengths": func(x, y []float64) float64 {
			n := min(len(x), len(y))
			return right(x[:n], y[:n])
		},
	} {
		assert.ErrorContains(t, conformance.Kernel(k, x), want)
	}
	assert.ErrorContains(t, conformance.Kernel(kernels.Gaussian{LengthScale: -1}, x), "LengthScale = -1")
	assert.EqualError(t, conformance.Kernel(nil, x), "conformance: k is nil")
	assert.EqualError(t, conformance.Kernel(kernels.Gaussian{}, x.RowRange(0, 1)), "conformance: x is 1×3, want at least 2 points")
}

// A check of a kernel of the user.
func ExampleKernel() {
	cauchy := function(func(x, y []float64) float64 {
		if len(x) != len(y) {
			panic(fmt.Sprintf("x has length %d, y has length %d", len(x), len(y)))
		}
		var q float64
		for i, v := range x {
			q += (v - y[i]) * (v - y[i])
		}
		return 1 / (1 + q)
	})
	fmt.Println(conformance.Kernel(cauchy, cloud[float64](30, 3)))
	// Output: <nil>
}

// cloud returns n normal points of R^d with the standard deviation ½.
func cloud[T dense.Float](n, d int) dense.Matrix[T] {
	rng := rand.New(exprand.NewSource(uint64(d)))
	x := dense.New[T](n, d)
	for i := range x.Data {
		x.Data[i] = T(0.5 * rng.NormFloat64())
	}
	return x
}
