package sweep_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/components"
	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hypothesis"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/kmeans"
	"github.com/seed-feabd252/randfeat/landmarks"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/audit"
	"github.com/seed-feabd252/randfeat/performer/estimate"
	"github.com/seed-feabd252/randfeat/quantise"
	"github.com/seed-feabd252/randfeat/quantise/index"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/automl"
	"github.com/seed-feabd252/randfeat/ridge/kernelridge"
	"github.com/seed-feabd252/randfeat/table"
	"github.com/seed-feabd252/randfeat/validate"
)

// lookedAt is a context that ends when Err or Done is called a given number of times. It counts the
// rows that maps and kernels compute between two calls, and after its end.
type lookedAt struct {
	context.Context
	cancel             context.CancelFunc
	end                int64
	looks              atomic.Int64
	rows, most, behind atomic.Int64
}

func lookAt(t *testing.T, end int64) *lookedAt {
	c := &lookedAt{end: end}
	c.Context, c.cancel = context.WithCancel(t.Context())
	return c
}

func (c *lookedAt) Err() error {
	if c.looks.Add(1) == c.end {
		c.cancel()
	}
	c.rows.Store(0)
	return c.Context.Err()
}

// see counts computed rows.
func (c *lookedAt) see(rows int) {
	n := c.rows.Add(int64(rows))
	for old := c.most.Load(); n > old && !c.most.CompareAndSwap(old, n); old = c.most.Load() {
	}
	if c.Context.Err() != nil {
		c.behind.Add(int64(rows))
	}
}

// watched is a map that reports its rows to a context.
type watched struct {
	rff.Differentiable[float64]
	c *lookedAt
}

func (w watched) Transform(dst, x dense.Matrix[float64]) dense.Matrix[float64] {
	w.c.see(x.Rows)
	return w.Differentiable.Transform(dst, x)
}

// distant is a kernel that reports each value to a context as a row.
type distant struct {
	kernels.Gaussian
	c *lookedAt
}

func (k distant) Eval(x, y []float64) float64 {
	k.c.see(1)
	return k.Gaussian.Eval(x, y)
}

func (c *lookedAt) phi(m int) rff.Map[float64] {
	phi := must.Have(rff.Draw(rff.Gaussian{LengthScale: 2}, must.Have(orf.Draw[float64](orf.IID{}, m, 4, densetest.Source(1)))))
	return watched{phi.(rff.Differentiable[float64]), c}
}

func (c *lookedAt) draw(src rand.Source) (rff.Map[float64], error) {
	phi, err := rff.Draw(rff.Gaussian{LengthScale: 2}, must.Have(orf.Draw[float64](orf.IID{}, 4, 4, src)))
	return watched{phi.(rff.Differentiable[float64]), c}, err
}

// texts returns the first two columns of x as texts.
func texts(x dense.Matrix[float64]) [][]string {
	var rows [][]string
	for i := range x.Rows {
		rows = append(rows, []string{fmt.Sprint(x.At(i, 0)), fmt.Sprint(x.At(i, 1))})
	}
	return rows
}

// Every function with a context checks it at least a given number of times in a call, with at most
// 4096 rows per processor between two checks. The function does nothing for a context that has
// ended. If the context ends during the call, the function returns the error of the context, and
// goroutines stop after their current block.
func TestContexts(t *testing.T) {
	const n = 20000
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := densetest.Normal[float64](rng, n, 4, 0, 1), densetest.Normal[float64](rng, n, 1, 0, 1)
	classes := dense.New[float64](n, 1)
	for i, v := range x.Data[:n] {
		y.Data[i] += v
		if v > 0 {
			classes.Data[i] = 1
		}
	}
	rows, few := ridge.Block[float64]{X: x, Y: y}, ridge.Block[float64]{X: x.RowRange(0, 1500), Y: y.RowRange(0, 1500)}
	labelled := ridge.Block[float64]{X: x, Y: classes}
	background := lookAt(t, 0)
	sums := must.Have(ridge.Sum(t.Context(), background.phi(200), few))
	src := func() rand.Source { return rand.NewPCG(3, 4) }
	coder := must.Have(quantise.New[float64](4, quantise.Options{}, src()))
	codes := must.Have(coder.Encode(t.Context(), x))
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = int64(i)
	}
	searched := must.Have(index.New[int64](4, index.Options[float64]{KeepRows: true}, src()))
	must.Have(0, searched.Add(t.Context(), ids, x))
	attention := estimate.UnbiasedOptions{Dim: 4, MaxCost: math.Inf(1), Features: 8, Replicates: 4}
	exact := must.Have(performer.NewExact[float64](performer.ExactOptions{}))
	o := ridge.Options{Ratio: 1}
	fitted := must.Have(kernelridge.Fit(t.Context(), kernels.Gaussian{}, few, kernelridge.Options{Ratio: 1, Rank: 100, Src: src()}))

	calls := map[string]struct {
		least int64 // looks
		call  func(c *lookedAt) error
	}{
		"components.Fit":      {n / 4096, func(c *lookedAt) error { _, err := components.Fit(c, c.phi(8), rows, 3, false); return err }},
		"components.FromSums": {5, func(c *lookedAt) error { _, err := components.FromSums(c, sums, 4, true); return err }},
		"components.Metric":   {1, func(c *lookedAt) error { _, err := components.Metric(c, sums); return err }},
		"hypothesis.Compare": {10, func(c *lookedAt) error {
			cells := must.Have(hypothesis.NewCells(background.phi(8), 10, 500))
			must.Have(0, cells.Add(x, src()))
			_, err := hypothesis.Compare(c, cells, cells, 99, src())
			return err
		}},
		"hypothesis.Independence": {4 * n / 256, func(c *lookedAt) error {
			_, err := hypothesis.Independence(c, c.phi(8), c.phi(8), x, x, hypothesis.Options{}, src())
			return err
		}},
		"hypothesis.TwoSample": {n / 256, func(c *lookedAt) error {
			_, err := hypothesis.TwoSample(c, c.phi(8), x, x, hypothesis.Options{}, src())
			return err
		}},
		"kmeans.Cluster": {12 * n / 1024, func(c *lookedAt) error {
			_, err := kmeans.Cluster(c, x, 3, kmeans.Options[float64]{MaxIterations: 2}, src())
			return err
		}},
		"landmarks.Pivoted": {n / 256, func(c *lookedAt) error {
			_, err := landmarks.Pivoted(c, distant{c: c}, x, 10, src())
			return err
		}},
		"performer.audit.Choose": {2, func(c *lookedAt) error {
			z := x.RowRange(0, 4096)
			_, err := audit.Choose(c, performer.Softmax{}, z, z, z, 0.3, audit.ChooseOptions{Calls: 1000, Budget: 100, Reproducible: true}, src())
			return err
		}},
		"performer.audit.Measure": {32, func(c *lookedAt) error {
			_, err := audit.Measure[float64](c, exact, x, x, x, audit.Options{Rows: 512}, src(), exact)
			return err
		}},
		"performer.estimate.Estimate": {8, func(c *lookedAt) error {
			_, _, err := must.Have(estimate.NewUnbiased[float64](attention, src())).Estimate(c, dense.Matrix[float64]{}, dense.Matrix[float64]{}, few.X, few.X, few.X)
			return err
		}},
		"performer.estimate.Pilot": {8, func(c *lookedAt) error {
			z := x.RowRange(0, 100)
			_, err := must.Have(estimate.NewUnbiased[float64](attention, src())).Pilot(c, z, z, z)
			return err
		}},
		"quantise.Append": {n / 64, func(c *lookedAt) error { return must.Have(coder.Encode(t.Context(), few.X)).Append(c, x) }},
		"quantise.Encode": {n / 64, func(c *lookedAt) error { _, err := coder.Encode(c, x); return err }},
		"quantise.Learn": {5, func(c *lookedAt) error {
			_, err := quantise.Learn(c, few.X, quantise.Options{Bits: 1}, src())
			return err
		}},
		"quantise.SearchAll": {1000 / 8, func(c *lookedAt) error {
			hits, queries := make([][]quantise.Hit, 1000), make([]*quantise.Query, 1000)
			for i := range queries {
				hits[i], queries[i] = make([]quantise.Hit, 1), codes.Quantiser().Prepare(nil, x.Row(i), quantise.Cosine, 0)
			}
			return codes.SearchAll(c, hits, queries, quantise.SearchOptions[float64]{})
		}},
		"quantise.index.Put": {n / 64, func(c *lookedAt) error {
			return must.Have(index.New[int64](4, index.Options[float64]{}, src())).Put(c, ids, x)
		}},
		"quantise.index.Compact": {n / 64, func(c *lookedAt) error { return searched.Compact(c) }},
		"quantise.index.Search": {n / 256, func(c *lookedAt) error {
			_, err := searched.Search(c, x.Row(0), 10, nil)
			return err
		}},
		"quantise.index.Within": {n / 256, func(c *lookedAt) error {
			_, err := searched.Within(c, x.Row(0), 1, nil)
			return err
		}},
		"ridge.Choose": {n / 255, func(c *lookedAt) error {
			_, err := ridge.Choose(c, []rff.Map[float64]{c.phi(8)}, rows, o)
			return err
		}},
		"ridge.Fit": {n / 255, func(c *lookedAt) error {
			_, err := ridge.Fit(c, c.phi(8), ridge.Block[float64]{X: x, Y: y}, o)
			if err == nil {
				_, err = sums.Fit(c, o)
			}
			return err
		}},
		"ridge.Classify": {n / 1024, func(c *lookedAt) error {
			_, err := ridge.Classify(c, []rff.Map[float64]{c.phi(8)}, labelled, ridge.ClassifyOptions{Classes: 2})
			return err
		}},
		"ridge.Sum": {n / 255, func(c *lookedAt) error { _, err := ridge.Sum(c, c.phi(8), rows); return err }},
		"ridge.automl.Fit": {100, func(c *lookedAt) error {
			z := ridge.Block[float64]{X: x.RowRange(0, 40).ColRange(0, 1), Y: y.RowRange(0, 40)}
			_, err := automl.Fit(c, z, automl.Options{}, src())
			return err
		}},
		"ridge.Fit of Iterative": {n / 256, func(c *lookedAt) error {
			_, err := ridge.Fit(c, c.phi(20), ridge.Rows[float64](rows), ridge.Options{Iterative: &ridge.Iterative{Src: src()}})
			return err
		}},
		"ridge.kernelridge.Fit": {300, func(c *lookedAt) error {
			_, err := kernelridge.Fit(c, distant{c: c}, few.RowRange(0, 500), kernelridge.Options{Ratio: 1, Rank: 10, Src: src()})
			return err
		}},
		"ridge.kernelridge.Choose": {13, func(c *lookedAt) error {
			_, err := kernelridge.Choose(c, []kernels.Kernel{kernels.Gaussian{}}, few.RowRange(0, 200), src())
			return err
		}},
		"ridge.kernelridge.Scales": {13, func(c *lookedAt) error {
			_, _, err := kernelridge.Scales(c, kernels.Gaussian{}, few.RowRange(0, 200), src())
			return err
		}},
		"ridge.kernelridge.Compress": {1500 / 256, func(c *lookedAt) error {
			_, err := kernelridge.Compress(c, fitted.Model, 20, src())
			return err
		}},
		"table.Fit": {100, func(c *lookedAt) error {
			t := must.Have(table.New([]string{"x", "y"}, texts(x.RowRange(0, 40))))
			_, err := table.Fit(c, t, []string{"y"}, table.Options{}, src())
			return err
		}},
		"validate.Compare": {n / 64, func(c *lookedAt) error {
			_, err := validate.Compare(c, []validate.Method[float64]{{Name: "one", Draw: c.draw}}, x, x, 2, src())
			return err
		}},
		"validate.Measure": {n / 64, func(c *lookedAt) error {
			_, err := validate.Measure(c, c.draw, x, x, 2, src())
			return err
		}},
	}
	paths := must.Have(filepath.Glob("../../api/*.txt"))
	takes := regexp.MustCompile(`(?m)^func (?:\(.*?\) )?([A-Z]\w*).*\(ctx context\.Context`)
	for _, path := range paths {
		for _, f := range takes.FindAllSubmatch(must.Have(os.ReadFile(path)), -1) {
			assert.Contains(t, calls, strings.TrimSuffix(filepath.Base(path), ".txt")+"."+string(f[1]), "a call of a function that takes a context")
		}
	}
	most := int64(4096 * runtime.GOMAXPROCS(0))
	for name, f := range calls {
		t.Run(name, func(t *testing.T) {
			ended := lookAt(t, 0)
			ended.cancel()
			require.ErrorIs(t, f.call(ended), context.Canceled)
			assert.Zero(t, ended.most.Load(), "rows that are seen after the end")

			all := lookAt(t, 0)
			require.NoError(t, f.call(all))
			looks := all.looks.Load()
			assert.GreaterOrEqual(t, looks, f.least, "looks")
			assert.LessOrEqual(t, all.most.Load(), most, "rows between two looks")
			for _, at := range []int64{1, looks / 10, looks / 2, looks * 9 / 10} {
				some := lookAt(t, max(1, at))
				assert.ErrorIs(t, f.call(some), context.Canceled, "at look %d of %d", at, looks)
				assert.LessOrEqual(t, some.behind.Load(), most, "rows after look %d of %d", at, looks)
			}
		})
	}
}
