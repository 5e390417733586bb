package validate_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/kernels"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
	"github.com/seed-feabd252/randfeat/validate"
)

// samples returns queries and keys whose coordinates are of different sizes.
func samples(n, d int) (x, y dense.Matrix[float64]) {
	rng := rand.New(exprand.NewSource(5))
	x, y = dense.New[float64](n, d), dense.New[float64](n+3, d)
	for _, p := range []dense.Matrix[float64]{x, y} {
		for i := range p.Rows {
			for j := range p.Row(i) {
				p.Set(i, j, rng.NormFloat64()*math.Pow(4, float64(j%3)-1)/math.Sqrt(float64(d)))
			}
		}
	}
	for i := range y.Rows {
		y.Set(i, 0, y.At(i, 0)*5)
	}
	return x, y
}

func TestChoose(t *testing.T) {
	t.Parallel()
	const d, budget = 8, 32
	x, y := samples(40, d)
	for _, relative := range []bool{false, true} {
		c, err := validate.Choose(t.Context(), validate.SoftmaxCandidates[float64](1), x, y, validate.ChooseOptions{Features: budget, Relative: relative, Pairs: 100, Draws: 200}, exprand.NewSource(1))
		require.NoError(t, err)
		require.Len(t, c.Trials, 28, "hybrid features, 36 a frequency, are more than the budget")
		require.Len(t, c.Rejected, 4)
		assert.EqualError(t, c.Rejected[0], "validate: candidate SoftmaxHybrid iid: one frequency makes 36 features, the budget is 32")
		best := c.Trials[0]
		previous := 0.0
		for _, r := range c.Trials {
			assert.LessOrEqual(t, r.Features, budget, r.Name)
			perFrequency := 1
			if strings.HasPrefix(r.Name, "SoftmaxHyperbolic") || strings.HasPrefix(r.Name, "SoftmaxTrig") {
				perFrequency = 2
			}
			assert.Equal(t, budget/perFrequency, r.Frequencies, r.Name)
			assert.Equal(t, budget, r.Features, r.Name)
			known := !strings.HasSuffix(r.Name, "Hadamard") && (!strings.HasPrefix(r.Name, "SDERF") || strings.HasSuffix(r.Name, "iid"))
			assert.Equal(t, known, r.Law != "", r.Name)
			assert.Equal(t, known, r.MSEStdErr == 0, r.Name)
			if known {
				assert.GreaterOrEqual(t, r.MSE, best.MSE, r.Name)
			}
			bound := r.MSE + 4*r.MSEStdErr
			assert.GreaterOrEqual(t, bound, previous, "ranked")
			previous = bound
		}
		// The choice is what it says: measured anew, on the same kind of pairs, it beats what
		// FAVOR+ has by law.
		assert.NotContains(t, best.Name, "SoftmaxPositive iid")
		drawn, err := c.Draw(exprand.NewSource(2))
		require.NoError(t, err)
		_, out := drawn.Dims()
		assert.Equal(t, best.Features, out)
		assert.Equal(t, kernels.Softmax{Gamma: 1}, drawn.Kernel())
		assert.Contains(t, c.Table().String(), best.Name)

		lines := strings.Split(strings.TrimSuffix(c.Table().String(), "\n"), "\n")
		require.Len(t, lines, 30)
		for _, line := range lines {
			assert.LessOrEqual(t, utf8.RuneCountInString(line), 100, line)
		}
		table := c.Table()
		for _, column := range table.Columns {
			names, err := table.Names(column.Key)
			require.NoError(t, err)
			assert.True(t, slices.ContainsFunc(names, func(s string) bool { return s != "—" }), "column %s is empty", column.Key)
		}
		errors, err := table.Numbers("mse")
		require.NoError(t, err)
		margins, err := table.Numbers("margin")
		require.NoError(t, err)
		by, err := table.Names("by")
		require.NoError(t, err)
		last := 0.0
		for i, v := range errors {
			assert.Equal(t, math.IsNaN(margins[i]), by[i] == "law", "row %d", i)
			if by[i] == "draws" {
				v += margins[i]
			}
			assert.GreaterOrEqual(t, v, last, "the table shows what it is ranked by")
			last = v
		}
	}
}

// Columns without a value are left out.
func TestChoiceAsTable(t *testing.T) {
	c := validate.Choice[float64]{Pairs: 9, Trials: []validate.Trial[float64]{
		{Candidate: validate.Candidate[float64]{Name: "one"}, Frequencies: 8, Features: 16, MSE: 0.25, Law: "the law"},
		{Candidate: validate.Candidate[float64]{Name: "two"}, Frequencies: 16, Features: 16, MSE: 0.5, Law: "the law"},
	}}
	assert.Equal(t, `2 candidates at 9 pairs, best first
  candidate   m  features   MSE   by
        one   8        16  0.25  law
        two  16        16   0.5  law
`, c.Table().String())
	c.Relative = true
	c.Trials[1].Law, c.Trials[1].MSEStdErr, c.Trials[1].Time = "", 0.125, time.Second/4
	assert.Equal(t, `2 candidates at 9 pairs, best first by relative MSE and ±, 4 standard errors
  candidate   m  features  relative MSE    ±  seconds     by
        one   8        16          0.25    —        —    law
        two  16        16           0.5  0.5     0.25  draws
`, c.Table().String())
}

// An error by theory and one that is measured agree.
func TestChooseMeasuresWhatTheoryHas(t *testing.T) {
	t.Parallel()
	x, y := samples(40, 4)
	hidden := func(m int, x, y dense.Matrix[float64], src rand.Source) (rff.Map[float64], error) {
		w, err := orf.Draw[float64](orf.IID{}, m, x.Cols, src)
		if err != nil {
			return nil, err
		}
		f, err := rff.Gaussian(w, 1.5)
		return struct{ rff.Map[float64] }{f}, err
	}
	for _, relative := range []bool{false, true} {
		list := append(validate.GaussianCandidates[float64](1.5)[:1], validate.Candidate[float64]{Name: "hidden", Draw: hidden})
		c, err := validate.Choose(t.Context(), list, x, y, validate.ChooseOptions{Features: 20, Relative: relative, Draws: 4000}, exprand.NewSource(1))
		require.NoError(t, err)
		require.Len(t, c.Trials, 2)
		assert.Equal(t, "Gaussian iid", c.Trials[0].Name)
		measured := c.Trials[1]
		assert.InDelta(t, c.Trials[0].MSE, measured.MSE, 4*measured.MSEStdErr)
		assert.Less(t, measured.MSEStdErr, 0.1*measured.MSE)
	}
}

func TestChooseIsReproducible(t *testing.T) {
	x, y := samples(20, 4)
	choose := func() validate.Choice[float64] {
		c, err := validate.Choose(t.Context(), validate.GaussianCandidates[float64](1), x, y, validate.ChooseOptions{Features: 16, Pairs: 20, Draws: 10}, exprand.NewSource(1))
		require.NoError(t, err)
		return c
	}
	assert.Equal(t, choose().Table(), choose().Table())
}

// Budgets of time: a larger one never has fewer frequencies by more than noise allows,
// so they are far apart.
func TestChooseWithinTime(t *testing.T) {
	x, y := samples(50, 16)
	at := func(limit time.Duration, features int) validate.Trial[float64] {
		c, err := validate.Choose(t.Context(), validate.SoftmaxCandidates[float64](1)[:1], x, y, validate.ChooseOptions{Time: limit, Features: features, Pairs: 5}, exprand.NewSource(1))
		require.NoError(t, err)
		best := c.Trials[0]
		assert.LessOrEqual(t, best.Time, limit)
		assert.Positive(t, best.Time)
		return best
	}
	assert.LessOrEqual(t, at(time.Hour, 64).Frequencies, 64)
	assert.Equal(t, 64, at(time.Hour, 64).Frequencies, "the other limit counts too")
	assert.GreaterOrEqual(t, at(20*time.Millisecond, 0).Frequencies, 2)

	_, err := validate.Choose(t.Context(), validate.SoftmaxCandidates[float64](1)[:1], x, y, validate.ChooseOptions{Time: 1}, exprand.NewSource(1))
	assert.ErrorContains(t, err, "the budget is 1ns")
}

func TestChooseErrors(t *testing.T) {
	x, y := samples(20, 4)
	src := exprand.NewSource(1)
	all, some := validate.GaussianCandidates[float64](1), validate.ChooseOptions{Features: 16}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	choose := func(x, y dense.Matrix[float64], list []validate.Candidate[float64], limits, o validate.ChooseOptions, src rand.Source) string {
		o.Features, o.Time = limits.Features, limits.Time
		_, err := validate.Choose(ctx, list, x, y, o, src)
		require.Error(t, err)
		return err.Error()
	}
	assert.Equal(t, "validate: no candidates, want at least 1", choose(x, y, nil, some, validate.ChooseOptions{}, src))
	assert.Equal(t, "validate: x is 20×4, y is 23×3, want points of one dimension", choose(x, y.ColRange(0, 3), all, some, validate.ChooseOptions{}, src))
	assert.Equal(t, "validate: ChooseOptions has no limit, want Features, Time or Error", choose(x, y, all, validate.ChooseOptions{}, validate.ChooseOptions{}, src))
	assert.Equal(t, "validate: ChooseOptions.Features = -1, want at least 0", choose(x, y, all, validate.ChooseOptions{Features: -1}, validate.ChooseOptions{}, src))
	assert.Equal(t, "validate: ChooseOptions.Time = -1ns, want at least 0", choose(x, y, all, validate.ChooseOptions{Time: -1}, validate.ChooseOptions{}, src))
	assert.Equal(t, "validate: ChooseOptions.Pairs = -1, want at least 0", choose(x, y, all, some, validate.ChooseOptions{Pairs: -1}, src))
	assert.Equal(t, "validate: ChooseOptions.Draws = 1, want at least 2, or 0 for 64", choose(x, y, all, some, validate.ChooseOptions{Draws: 1}, src))
	assert.Contains(t, choose(x, y, all, some, validate.ChooseOptions{Pairs: math.MaxInt}, src), fmt.Sprintf("validate: ChooseOptions.Pairs = %d, of points of R^4: ", math.MaxInt))
	assert.Contains(t, choose(x, y, all, validate.ChooseOptions{Features: math.MaxInt}, validate.ChooseOptions{}, src), "validate: candidate Gaussian iid: orf: m = ")
	assert.Equal(t, "validate: src is nil", choose(x, y, all, some, validate.ChooseOptions{}, nil))
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		broken := y.Clone()
		broken.Set(21, 3, bad)
		assert.Equal(t, fmt.Sprintf("validate: row 21 of y has %v in column 3, want finite numbers", bad), choose(x, broken, all, some, validate.ChooseOptions{}, src))
		assert.Equal(t, fmt.Sprintf("validate: row 21 of x has %v in column 3, want finite numbers", bad), choose(broken, x, all, some, validate.ChooseOptions{}, src))
	}
	assert.Equal(t, "validate: candidate empty: Draw is nil", choose(x, y, []validate.Candidate[float64]{{Name: "empty"}}, some, validate.ChooseOptions{}, src))
	failing := validate.Candidate[float64]{Name: "failing", Draw: func(int, dense.Matrix[float64], dense.Matrix[float64], rand.Source) (rff.Map[float64], error) {
		return nil, errors.New("no more")
	}}
	assert.Equal(t, "validate: candidate failing: no more", choose(x, y, []validate.Candidate[float64]{failing}, some, validate.ChooseOptions{}, src))
	wrong := validate.Candidate[float64]{Name: "wrong", Draw: func(m int, _, _ dense.Matrix[float64], src rand.Source) (rff.Map[float64], error) {
		return rff.Identity[float64](3)
	}}
	assert.Equal(t, "validate: candidate wrong: the map takes points of R^3 to 3 features, x is 20×4", choose(x, y, []validate.Candidate[float64]{wrong}, some, validate.ChooseOptions{}, src))

	steps := 0
	stop := func(done, total int) {
		assert.Equal(t, 16, total)
		if steps++; steps == 2 {
			cancel()
		}
	}
	assert.Equal(t, "validate: context canceled", choose(x, y, all, some, validate.ChooseOptions{Pairs: 5, Progress: stop}, src))
	assert.Equal(t, 2, steps)
}

// Maps of users that are nil, or have other numbers of features than that of one
// frequency promises.
func TestChooseRejects(t *testing.T) {
	x, y := samples(20, 4)
	reason := func(draw func(m int, src rand.Source) (rff.Map[float64], error)) string {
		list := []validate.Candidate[float64]{{Name: "own", Draw: func(m int, _, _ dense.Matrix[float64], src rand.Source) (rff.Map[float64], error) {
			return draw(m, src)
		}}}
		_, err := validate.Choose(t.Context(), list, x, y, validate.ChooseOptions{Features: 16}, exprand.NewSource(1))
		require.Error(t, err)
		return err.Error()
	}
	assert.Equal(t, "validate: candidate own: the map is nil", reason(func(int, rand.Source) (rff.Map[float64], error) {
		return nil, nil
	}))
	assert.Equal(t, "validate: candidate own: the mean squared error is NaN: features, or the kernel, are NaN or infinite at a pair", reason(func(m int, src rand.Source) (rff.Map[float64], error) {
		w, err := orf.Draw[float64](orf.IID{}, m, 4, src)
		if err != nil {
			return nil, err
		}
		return rff.New(w, rff.Scheme[float64]{F: []func(float64) float64{math.Log}, Kernel: kernels.DotProduct{}})
	}))
	assert.Equal(t, "validate: candidate own: 8 frequencies make 128 features, the budget is 16", reason(func(m int, src rand.Source) (rff.Map[float64], error) {
		w, err := orf.Draw[float64](orf.IID{}, m*m, 4, src)
		if err != nil {
			return nil, err
		}
		return rff.Gaussian(w, 1)
	}))
}

// A context that is done during the last candidate counts as well.
func TestChooseEndsEarlyAtLast(t *testing.T) {
	x, y := samples(20, 4)
	ctx, cancel := context.WithCancel(context.Background())
	last := validate.Candidate[float64]{Name: "last", Draw: func(m int, _, _ dense.Matrix[float64], src rand.Source) (rff.Map[float64], error) {
		cancel()
		return nil, errors.New("no more")
	}}
	list := append(validate.GaussianCandidates[float64](1)[:1], last)
	_, err := validate.Choose(ctx, list, x, y, validate.ChooseOptions{Features: 16, Pairs: 5}, exprand.NewSource(1))
	assert.ErrorIs(t, err, context.Canceled)
}

// Points of any size have a choice, at once.
func TestChooseOfFarPoints(t *testing.T) {
	for _, norm := range []float64{1e4, 1e150} {
		x := dense.Of(3, 3, []float64{norm, 0, 0, 0, norm, norm, -norm, norm / 2, 0})
		c, err := validate.Choose(t.Context(), validate.GaussianCandidates[float64](1)[:3], x, x, validate.ChooseOptions{Features: 16, Pairs: 50}, exprand.NewSource(1))
		require.NoError(t, err)
		for _, r := range c.Trials {
			// A share of the pairs is of one point with itself, without error, and others have 1/(2m).
			assert.InDelta(t, 0.5/8*2/3, r.MSE, 0.01, r.Name)
		}
	}
}

// The relative error of positive features is e^p − 1 for p = ‖x+y‖², whatever the kernel is. One
// that must be measured, of Hadamard frequencies, takes the kernel, e^(−900) here.
func TestChooseBeyondTheRangeOfTheKernel(t *testing.T) {
	const m = 16
	x, y := dense.Of(1, 3, []float64{30, 0, 0}), dense.Of(1, 3, []float64{-30, 0.5, 0})
	c, err := validate.Choose(t.Context(), validate.SoftmaxCandidates[float64](1)[:4], x, y, validate.ChooseOptions{Features: m, Relative: true, Pairs: 3}, exprand.NewSource(1))
	require.NoError(t, err)
	require.Len(t, c.Trials, 3)
	require.Len(t, c.Rejected, 1)
	assert.EqualError(t, c.Rejected[0], "validate: candidate SoftmaxPositive Hadamard: the kernel is 0 at a pair, want a number other than 0 to measure relative errors by")
	last := c.Trials[2]
	assert.Equal(t, "SoftmaxPositive iid", last.Name)
	assert.InEpsilon(t, math.Expm1(0.25)/m, last.MSE, 1e-12)
}

// Where queries and keys have means far from zero, centred maps are better, by law and as measured.
// Without means, both are equally good.
func TestChooseOfCentredMaps(t *testing.T) {
	t.Parallel()
	const d = 6
	x, y := samples(40, d)
	all := validate.SoftmaxCandidates[float64](1)
	kept := all[:0]
	for _, c := range all {
		if strings.HasPrefix(c.Name, "SoftmaxPositive") || strings.HasPrefix(c.Name, "SDERF") || c.Name == "SoftmaxTrig iid" {
			kept = append(kept, c)
		}
	}
	for _, offset := range []float64{0, 1} {
		for i := range x.Rows {
			x.Set(i, 0, x.At(i, 0)+offset)
			x.Set(i, 1, x.At(i, 1)-offset)
		}
		for i := range y.Rows {
			y.Set(i, 0, y.At(i, 0)+2*offset)
		}
		if offset == 0 {
			for _, p := range []*dense.Matrix[float64]{&x, &y} {
				centred, _, err := rff.SubtractMean(*p)
				require.NoError(t, err)
				*p = centred
			}
		}
		c, err := validate.Choose(t.Context(), append(kept, validate.Centred(kept)...), x, y, validate.ChooseOptions{Features: 64, Relative: true, Pairs: 100}, exprand.NewSource(3))
		require.NoError(t, err)
		require.Len(t, c.Trials, 18)
		at := map[string]validate.Trial[float64]{}
		for _, r := range c.Trials {
			at[r.Name] = r
		}
		for _, plain := range kept {
			left, off := at[plain.Name], at[plain.Name+", centred"]
			assert.Equal(t, left.Law == "", off.Law == "", plain.Name)
			switch {
			case offset != 0:
				assert.Less(t, 1.5*off.MSE, left.MSE, plain.Name)
			case left.Law != "":
				assert.InEpsilon(t, left.MSE, off.MSE, 1e-9, plain.Name)
			}
		}
		if offset != 0 {
			assert.Contains(t, c.Trials[0].Name, ", centred")
			drawn, err := c.Draw(exprand.NewSource(4))
			require.NoError(t, err)
			assert.Equal(t, kernels.Softmax{Gamma: 1}, drawn.Kernel())
			law := validate.Theory(drawn, nil, x.Row(0), y.Row(0)).Law
			if c.Trials[0].Law != "" {
				assert.True(t, strings.HasPrefix(law, "Centred "), law)
			}
		}
	}
}

func TestZeroChoice(t *testing.T) {
	var c validate.Choice[float64]
	_, err := c.Draw(rand.NewPCG(1, 2))
	assert.EqualError(t, err, "validate: the Choice has no trials, want one of Choose")
}
