package table

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// scored returns the score of the target y of the table.
func scored(t testing.TB, m *Model, all *Table) Score {
	t.Helper()
	s, err := m.Score(all)
	require.NoError(t, err)
	require.Len(t, s, 1)
	return s["y"]
}

func fitted(t testing.TB, all *Table, o Options) *Model {
	t.Helper()
	m, err := Fit(context.Background(), all, []string{"y"}, o, rand.NewPCG(1, 2))
	require.NoError(t, err)
	return m
}

var chosen = regexp.MustCompile(`mixture +(\S+)`)

// Rows in groups have the error at new groups in the report, and bands hold there, within four
// standard errors of 20 groups. A group is no column of points, unless it is asked for. Rows held
// out at random say a tenth of the error.
func TestGroupsOfRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := func(groups int) *Table {
		var u, v, y float64
		return made(t, "who,u,v,y", 5*groups, func(i int) string {
			if i%5 == 0 {
				u, v, y = rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
			}
			return fmt.Sprintf("p%d,%g,%g,%g", i/5, u+0.01*rng.NormFloat64(), v+0.01*rng.NormFloat64(), y+0.1*rng.NormFloat64())
		})
	}
	rest, held, err := rows(25).SplitBy("who", 0.2, rand.NewPCG(1, 2))
	require.NoError(t, err)
	require.Equal(t, []int{100, 25}, []int{rest.Len(), held.Len()})
	for _, row := range held.rows {
		assert.NotContains(t, fmt.Sprint(rest.rows), row[0]+" ")
	}
	m := fitted(t, rest, Options{Group: "who"})
	assert.Equal(t, Skipped, m.Columns()[0].Kind)
	fresh := scored(t, m, rows(200))
	assert.Contains(t, m.Report(), "at 100 held-out rows of whole groups")
	assert.InEpsilon(t, fresh.RMSE, said(t, m), 4/math.Sqrt(2*20))
	assert.InDelta(t, 0.9, fresh.Inside, 4*math.Sqrt(0.09/20))
	two := made(t, "u,v,y", 40, func(i int) string { return fmt.Sprintf("%d,%d,%d", i%2, i%3, i) })
	columns, err := two.Columns([]string{"y"}, Options{Group: "u", Category: []string{"u"}})
	require.NoError(t, err)
	assert.Equal(t, YesNo, columns[0].Kind)
}

// A row of weight 0 counts for nothing, and a row of weight 2 as two rows.
func TestWeightsOfRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	row := func(w string, slope float64) string {
		x := rng.NormFloat64()
		return fmt.Sprintf("%g,%s,%g", x, w, slope*x)
	}
	all := made(t, "x,w,y", 80, func(i int) string {
		if i%2 == 0 {
			return row("0", -5)
		}
		return row("1.5", 3)
	})
	m := fitted(t, all, Options{Weight: "w"})
	s := scored(t, m, made(t, "x,y", 50, func(int) string { x := rng.NormFloat64(); return fmt.Sprintf("%g,%g", x, 3*x) }))
	assert.Less(t, s.RMSE, 0.01)
	assert.Contains(t, m.Report(), "40 rows, RMSE")
}

// If the context ends, Fit returns its error and the best model so far, or nil before a family has
// been compared.
func TestBestSoFar(t *testing.T) {
	all := made(t, "x,y", 60, func(i int) string { return fmt.Sprintf("%d,%d", i, 2*i+i%3) })
	for _, at := range []int{0, 1} {
		ctx, cancel := context.WithCancel(t.Context())
		if at == 0 {
			cancel()
		}
		m, err := Fit(ctx, all, []string{"y"}, Options{Progress: func(done, _ int, _ string) {
			if done == at {
				cancel()
			}
		}}, rand.NewPCG(1, 2))
		require.ErrorIs(t, err, context.Canceled)
		if at == 0 {
			assert.Nil(t, m)
			continue
		}
		s := scored(t, m, all)
		assert.Less(t, s.RMSE, 2.0)
		assert.Contains(t, m.Report(), "The time ended before other families or more rows.")
	}
}

// said returns the error that the report of a model has.
func said(t *testing.T, m *Model) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(chosen.FindStringSubmatch(m.Report())[1], 64)
	require.NoError(t, err)
	return v
}

// Rows of a random walk tell their neighbours, but not what comes. With Time the report knows, and
// bands are wide enough.
func TestRowsThatDependOnEachOther(t *testing.T) {
	rng, y := rand.New(rand.NewPCG(3, 4)), 0.0
	walk := made(t, "time,y", 300, func(i int) string {
		y += rng.NormFloat64()
		return fmt.Sprintf("%d,%v", i, y)
	})
	rest, held, err := walk.SplitBy("time", 0.2, nil)
	require.NoError(t, err)
	require.Equal(t, walk.rows[240:], held.rows)
	for _, o := range []Options{{}, {Time: "time"}} {
		m := fitted(t, rest, o)
		s := scored(t, m, held)
		if o.Time == "" {
			assert.Greater(t, s.RMSE, 5*said(t, m))
			assert.Less(t, s.Inside, 0.5)
		} else {
			assert.Less(t, s.RMSE, 1.5*said(t, m))
			assert.Greater(t, s.Inside, 0.85)
		}
	}
}

// A few rows make the error of a target with a long tail, and its logarithm cures that: 100 rows,
// and errors at 1000 others, in the median of three draws.
func TestLongTail(t *testing.T) {
	share := func(f func(v float64) float64) float64 {
		rng, all := rand.New(rand.NewPCG(3, 4)), []float64(nil)
		row := func(int) string {
			a, b := rng.NormFloat64(), rng.NormFloat64()
			return fmt.Sprintf("%v,%v,%v", a, b, f(1.5*a+math.Sin(2*b)+rng.NormFloat64()/2))
		}
		for range 3 {
			m := fitted(t, made(t, "a,b,y", 100, row), Options{})
			s := scored(t, m, made(t, "a,b,y", 1000, row))
			all = append(all, s.RMSE/s.Deviation)
		}
		slices.Sort(all)
		return all[1]
	}
	tail := share(math.Exp)
	assert.Greater(t, tail, 0.5)
	assert.Less(t, tail, 1.0)
	assert.Less(t, share(func(v float64) float64 { return v }), 0.45)
}

// Of 80 rows of 20 columns that tell nothing, the report sees no function, and the served model is
// the mean or nearly so at 1000 other rows, where the standard error of the ratio is 2 %.
func TestNoiseStaysNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	row := func(int) string {
		cells := make([]string, 21)
		for j := range cells {
			cells[j] = fmt.Sprint(rng.NormFloat64())
		}
		return strings.Join(cells, ",")
	}
	const names = "A,B,C,D,E,F,G,H,I,J,K,L,M,N,O,P,Q,R,S,T,y"
	m := fitted(t, made(t, names, 80, row), Options{})
	assert.Greater(t, said(t, m), 0.8)
	s := scored(t, m, made(t, names, 1000, row))
	assert.Less(t, s.RMSE, 1.1*s.Deviation)
}

// Two targets in units that differ by 1000 are learnt in rows that have both, by one model in one
// file. Quantiles of normal noise σ have the CRPS 2σ·φ(z_q), on average over their levels q, and 1
// % more for 100 rows. A permutation of the column of a target raises the loss of this target
// alone.
func TestSeveralTargets(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	row := func(i int) string {
		u, v, gone := rng.NormFloat64(), rng.NormFloat64(), []string{"%[3]g", "NA"}[i%60/59]
		return fmt.Sprintf("%g,%g,"+gone+",%[4]g", u, v, u+rng.NormFloat64()/2, 1000*(v+rng.NormFloat64()/2))
	}
	all := made(t, "u,v,a,b", 120, row)
	m, err := Fit(t.Context(), all, []string{"b", "a"}, Options{}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	assert.Contains(t, m.Report(), "b, a from 2 columns of points.\n2 rows without a target are left out.\n118 rows")
	m, err = ReadModel(bytes.NewReader(fileOf(t, m)))
	require.NoError(t, err)
	assert.Equal(t, []string{"b", "a"}, m.Targets())
	other := made(t, "b,v,u,a", 1000, func(int) string {
		cells := strings.Split(row(0), ",")
		return strings.Join([]string{cells[3], cells[1], cells[0], cells[2]}, ",")
	})
	scores, err := m.Score(other)
	require.NoError(t, err)
	ideal := 0.0
	for k := 1; k < 20; k++ {
		ideal += 2.0 / 19 * distuv.UnitNormal.Prob(distuv.UnitNormal.Quantile(float64(k)/20))
	}
	for target, noise := range map[string]float64{"a": 0.5, "b": 500} {
		s := scores[target]
		assert.Equal(t, 1000, s.Rows)
		assert.InEpsilon(t, noise, s.RMSE, 0.01+4/math.Sqrt(2000), target)
		assert.InEpsilon(t, ideal*noise, s.CRPS, 0.01+4/math.Sqrt(1000), target)
		assert.InDelta(t, 0.9, s.Inside, 4*math.Sqrt(0.09/118))
		assert.InDelta(t, 0.05, s.Below, 4*math.Sqrt(0.05/118))
	}
	p, err := m.Predict(other, 0.5)
	require.NoError(t, err)
	assert.Len(t, p.Numbers["a"].Quantiles[0], 1000)
	for target, want := range map[string]struct {
		column string
		rise   float64 // 2w² for the weight w of a column of variance 1
	}{"a": {"u", 2}, "b": {"v", 2e6}} {
		e, err := m.Explain(other, target, rand.NewPCG(1, 2))
		require.NoError(t, err)
		assert.Equal(t, scores[target], e.Score)
		assert.Equal(t, want.column, e.Columns[0].Column, target)
		assert.InDelta(t, want.rise, e.Columns[0].Loss, 4*e.Columns[0].StdErr+0.05*want.rise, target)
		assert.InDelta(t, 0, e.Columns[1].Loss, 4*e.Columns[1].StdErr+0.05*want.rise, target)
		assert.Len(t, e.Columns[1].Dependence[0].Mean, 1)
	}
	_, err = m.Explain(other, "u", rand.NewPCG(1, 2))
	assert.EqualError(t, err, `table: target = "u", want one of ["b" "a"]`)
}

// A target that follows the day of the week and a category is learnt to its noise of 0.1, and bands
// of 90 % hold what they say: 30 rows make a standard error of 5 %.
func TestDatesAndCategoriesAreLearnt(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	rest, held := made(t, "day,shop,y", 150, func(int) string {
		k, shop := rng.IntN(365), rng.IntN(3)
		y := float64(shop) + 2*math.Sin(2*math.Pi*float64(k)/7) + 0.1*rng.NormFloat64()
		return fmt.Sprintf("%s,%c,%v", at(k), 'a'+shop, y)
	}).Split(0.2, rand.NewPCG(1, 2))
	s := scored(t, fitted(t, rest, Options{}), held)
	assert.Less(t, s.RMSE, 0.15)
	assert.InDelta(t, 0.9, s.Inside, 4*math.Sqrt(0.09/30))
}

// at returns the text of a day after 1 January 2023.
func at(k int) string {
	first, _ := date("2023-01-01")
	return first.AddDate(0, 0, k).Format("2006-01-02")
}

// What stands in rows that are held out does not change the model, nor do rows without a target.
func TestRowsOfFitAlone(t *testing.T) {
	row := func(i int) string { return fmt.Sprintf("%d,%c,%d", i%17, 'a'+i%3, i*i%13) }
	few := made(t, "x,k,y", 40, row)
	more := made(t, "x,k,y", 50, func(i int) string {
		if i < 40 {
			return row(i)
		}
		return "1e9,new,NA"
	})
	one, other := fitted(t, few, Options{}), fitted(t, more, Options{})
	assert.Equal(t, one.columns, other.columns)
	assert.Contains(t, other.Report(), "10 rows without a target are left out.\n")
	want, err := one.Predict(few, 0.05, 0.95)
	require.NoError(t, err)
	got, err := other.Predict(few, 0.05, 0.95)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// Numbers that may be classes are learnt as numbers with a note, or as classes with
// Options.Classes, in the order of the numbers.
func TestNumbersThatMayBeClasses(t *testing.T) {
	for _, c := range []struct {
		first, classes int
		note           string
	}{{0, 2, "y is whole numbers from 0 to 1, learnt as numbers. Options.Classes makes them classes."}, {1, 11, "y is whole numbers from 1 to 11"}, {2, 3, ""}, {1, 30, ""}} {
		m := fitted(t, made(t, "x,y", 96, func(i int) string { return fmt.Sprintf("%d,%d", i%c.classes, c.first+i%c.classes) }), Options{})
		assert.Equal(t, c.note != "", strings.Contains(m.Report(), "Options.Classes"), c)
		assert.Contains(t, m.Report(), c.note)
		assert.Nil(t, m.Classes())
	}
	m := fitted(t, made(t, "x,y", 96, func(i int) string { return fmt.Sprintf("%d,%d", i%11, 1+i%11) }), Options{Classes: true})
	assert.NotContains(t, m.Report(), "Options.Classes")
	assert.Equal(t, strings.Fields("1 2 3 4 5 6 7 8 9 10 11"), m.Classes())
}

// A class that only other rows have counts as wrong. A class that one row of Fit has is learnt.
func TestClasses(t *testing.T) {
	m := fitted(t, made(t, "x,y", 50, func(i int) string {
		if i == 20 {
			return "20,once"
		}
		return fmt.Sprintf("%d,%c", i%7, 'a'+i%7/4)
	}), Options{})
	assert.Equal(t, []string{"a", "b", "once"}, m.Classes())
	held := made(t, "y,x", 12, func(i int) string { return fmt.Sprintf("%s,%d", []string{"a", "a", "a", "late"}[i%4], i%3) })
	s := scored(t, m, held)
	assert.Equal(t, []any{12, 3, 0.75}, []any{s.Rows, s.Unknown, s.Right})
	p, err := m.Predict(held)
	require.NoError(t, err)
	var losses []float64
	for i := range 12 {
		assert.InDelta(t, 1, p.Probabilities.At(i, 0)+p.Probabilities.At(i, 1)+p.Probabilities.At(i, 2), 1e-12)
		if i%4 < 3 {
			losses = append(losses, -math.Log(p.Probabilities.At(i, 0)))
		}
	}
	assert.InDelta(t, stat.Mean(losses, nil), s.LogLoss, 1e-12)
	assert.Regexp(t, `^log-loss 0\.\d+ ± \S+, 75.0 % of the classes right; no row to learn from has the class of 3 of the rows, which count as wrong`, s.String())
	s = scored(t, m, made(t, "x,y", 3, func(int) string { return "1,late" }))
	assert.True(t, math.IsNaN(s.LogLoss))
	assert.Regexp(t, `^0.0 % of the classes right; no row to learn from has the class of 3 of the rows`, s.String())
}

func TestScoresOfAnySize(t *testing.T) {
	for want, c := range map[string][2]float64{
		"24.55 ± 0.93": {24.5512, 0.9312}, "460 ± 38": {459.96, 37.52}, "0.00100 ± 0.00012": {0.001, 0.00012}, "123457 ± 890": {123456.7, 890.1},
		"5 ± 0": {5, 0}, "1.2e+12 ± 3e+10": {1.2e12, 3e10}, "-0.0012 ± 0.0035": {-0.00123, 0.00351}, "2e-09 ± 1e-10": {2e-9, 1e-10},
	} {
		assert.Equal(t, want, plusMinus(c[0], c[1]))
	}
	of := func(unit float64) Score { // of errors whose fourth powers can overflow
		return Numbers{[]float64{3 * unit, -2 * unit, 5 * unit}, slices.Repeat([][]float64{{0, 0, 0}}, len(scoreLevels))}.score([]float64{0, 0, 0})
	}
	assert.InEpsilon(t, 1e129, of(1e129).StdErr/of(1).StdErr, 1e-12)
}

// Most rows of these tables are equal, or the target is an exact function: no step fails.
func TestPoorTables(t *testing.T) {
	for name, row := range map[string]func(i int) string{
		"one category": func(i int) string { return []string{"a", "a", "a", "b"}[i%4] + fmt.Sprintf(",%d", i*i%7) },
		"sine":         func(i int) string { return fmt.Sprintf("%d,%v", i, math.Sin(float64(i)/5)) },
		"exact":        func(i int) string { return fmt.Sprintf("%d,%d", i, 3*i+1) },
		"missing":      func(i int) string { return []string{"NA", "1"}[i%2] + fmt.Sprintf(",%d", i*i%7) },
		"one weekday":  func(i int) string { return at(7*i) + fmt.Sprintf(",%d", i*i%7) },
	} {
		all := made(t, "x,y", 80, row)
		s := scored(t, fitted(t, all, Options{}), all)
		assert.Less(t, s.RMSE, 3.0, name)
	}
}

func TestErrorsOfFit(t *testing.T) {
	row := func(i int) string { return fmt.Sprintf("%d,%c,%d", i%17, 'a'+i%2, 3*i%11) }
	plain := made(t, "size,kind,y", 40, row)
	with := func(last string) *Table {
		return made(t, "size,kind,y", 41, func(i int) string {
			if i == 40 {
				return last
			}
			return row(i)
		})
	}
	for _, c := range []struct {
		t    *Table
		o    Options
		want string
	}{
		{with("12O,a,1"), Options{}, `table: line 42, column "size": "12O" is not a finite number`},
		{with("Inf,a,1"), Options{}, `line 42, column "size": "Inf" is not a finite number`},
		{with("1e999,a,1"), Options{}, `line 42, column "size": "1e999" is not a finite number`},
		{with("0x10,a,1"), Options{}, `line 42, column "size": "0x10" is not a finite number`},
		{with("1_0,a,1"), Options{}, `line 42, column "size": "1_0" is not a finite number`},
		{with("-2,a,1"), Options{Log: []string{"size"}}, `line 2, column "size": "0" is not a positive number`},
		{with("1,a,dear"), Options{}, `line 42, column "y": "dear" is not a finite number, which most targets are`},
		{made(t, "size,kind,y", 19, row), Options{}, "19 rows with all targets, want at least 20"},
		{made(t, "x,y", 40, func(i int) string { return fmt.Sprintf("%d,7", i) }), Options{}, `column "y" is "7" in all rows to learn from`},
		{made(t, "x,z", 40, func(i int) string { return "1,2" }), Options{}, `no column "y" to predict among ["x" "z"]`},
		{plain, Options{Skip: []string{"Size"}}, `an option has "Size", want columns other than targets among`},
		{plain, Options{Category: []string{"y"}}, `an option has "y", want columns other`},
		{plain, Options{Skip: []string{"size", "kind"}}, `no column of numbers, dates or categories beside ["y"]`},
		{plain, Options{Log: []string{"kind"}}, `Log: column "kind" is yes/no, want numbers`},
		{plain, Options{Log: []string{"size"}, Skip: []string{"size"}}, `Log: column "size" is skipped, want numbers`},
		{plain, Options{Group: "kind", Time: "size"}, `table: Group "kind" and Time "size", want one of them`},
		{plain, Options{Group: "who"}, `an option has "who"`},
		{plain, Options{Time: "kind"}, `line 2, column "kind": "a" is not a number or a date, as Time has`},
		{with("-1,a,1"), Options{Weight: "size"}, `line 42, column "size": "-1" is not a weight, a number from 0 on`},
		{plain, Options{Group: "kind"}, "too few of 40 rows can be held out: want more groups"},
		{nil, Options{}, "table: the table is nil"},
	} {
		_, err := Fit(t.Context(), c.t, []string{"y"}, c.o, rand.NewPCG(1, 2))
		assert.ErrorContains(t, err, c.want)
	}
	for want, targets := range map[string][]string{
		"table: no targets, want names of columns to predict":                                    nil,
		`table: the target "y" is there twice`:                                                   {"y", "y"},
		`table: the target "kind" has classes, want no other target beside it in ["y" "kind"]`:   {"y", "kind"},
		`table: an option has "size", want columns other than targets among ["size" "kind" "y"]`: {"y", "size"},
	} {
		_, err := Fit(t.Context(), plain, targets, Options{Skip: []string{"size"}}, rand.NewPCG(1, 2))
		assert.EqualError(t, err, want)
	}
	_, err := Fit(t.Context(), plain, []string{"y"}, Options{}, nil)
	assert.EqualError(t, err, "table: src is nil, want a source of randomness")
	m := fitted(t, plain, Options{})
	_, err = m.Predict(with("1,a,1"), 0.5, 1)
	assert.EqualError(t, err, "table: levels[1] = 1, want a number between 0 and 1")
	_, err = m.Predict(nil, 0.9)
	assert.EqualError(t, err, "table: the table is nil")
	_, err = m.Predict(with("big,a,1"), 0.9)
	assert.ErrorContains(t, err, `line 42, column "size": "big" is not a finite number`)
	_, err = m.Score(with("1,a,big"))
	assert.ErrorContains(t, err, `line 42, column "y": "big" is not a finite number, which the targets of the model are`)
	_, err = m.Score(made(t, "size,kind,y", 3, func(int) string { return "1,a," }))
	assert.EqualError(t, err, `table: no row has all targets ["y"]`)
	for _, m := range []*Model{nil, {}} {
		_, err = m.Predict(plain, 0.9)
		assert.Equal(t, errNoModel, err)
		_, err = m.Score(plain)
		assert.Equal(t, errNoModel, err)
		assert.Equal(t, errNoModel, m.Write(nil))
	}
}

// Predictions of numbers near the largest one are finite, or an error of Predict, Score and Explain
// that names the line, as of a linear function.
func TestTooLargeNumbers(t *testing.T) {
	for _, target := range []string{"a", "kind"} {
		rng := rand.New(rand.NewPCG(1, 2))
		row := func(int) string {
			a := rng.NormFloat64()
			return fmt.Sprintf("%v,%v,%s", a, rng.NormFloat64(), map[string]string{"a": fmt.Sprint(a), "kind": map[bool]string{true: "up", false: "down"}[a > 0]}[target])
		}
		m := fitted(t, made(t, "a,b,y", 40, row), Options{})
		y := map[string]string{"a": "1", "kind": "up"}[target]
		far := made(t, "a,b,y", 3, func(i int) string { return []string{"1,1,", "1.7e308,-1.7e308,", "-1.7e308,1.7e308,"}[i] + y })
		p, err := m.Predict(far)
		if target == "a" {
			require.ErrorContains(t, err, "table: line 3: the prediction is ")
			require.ErrorContains(t, err, ", because numbers of the row are too large for the model")
		} else if err == nil {
			for _, v := range p.Probabilities.Data {
				assert.True(t, v >= 0 && v <= 1, v)
			}
		}
		_, again := m.Score(far)
		assert.Equal(t, err, again)
		_, again = m.Explain(far, "y", rand.NewPCG(1, 2))
		assert.Equal(t, err, again)
	}
}
