package automl_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/ridge"
	"github.com/seed-feabd252/randfeat/ridge/automl"
)

// grouped returns rows in groups of five, whose points are near each other, and whose targets are
// sin(2x_0) of the points, an effect of the group and noise; or whether this is above 0.
func grouped[T dense.Float](groups int, classes bool, seed uint64) (ridge.Block[T], []int) {
	rng := rand.New(rand.NewPCG(seed, 3))
	b, of := ridge.Block[T]{X: dense.New[T](5*groups, 2), Y: dense.New[T](5*groups, 1)}, []int{}
	for g := range groups {
		u, v, effect := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
		for i := range 5 {
			x := u + 0.1*rng.NormFloat64()
			b.X.Set(5*g+i, 0, T(x))
			b.X.Set(5*g+i, 1, T(v+0.1*rng.NormFloat64()))
			y := math.Sin(2*x) + effect + 0.3*rng.NormFloat64()
			if classes {
				y = map[bool]float64{true: 1}[y > 0]
			}
			b.Y.Set(5*g+i, 0, T(y))
			of = append(of, 7*g%groups)
		}
	}
	return b, of
}

// inside returns the share of the targets in bands of 90 %.
func inside[T dense.Float](m *automl.Model[T], b ridge.Block[T]) float64 {
	band, in := m.Quantiles(b.X, 0.05, 0.95), 0.0
	for i, v := range b.Y.Data {
		if band[0].Data[i] <= v && v <= band[1].Data[i] {
			in += 1 / float64(b.Y.Rows)
		}
	}
	return in
}

// A sample of 1500 rows has whole groups of ten, 30 rows of each of 50 large groups, and rows of
// every one of a few groups or of any time. Folds have whole groups and equal numbers of rows, or,
// forward in time, tenths of the rows.
func TestSampleAndFoldsOfGroups(t *testing.T) {
	for _, c := range []struct {
		groups, size, want int // groups in the sample
		forward            bool
	}{{1000, 10, 150, false}, {100, 1000, 50, false}, {5, 2000, 5, false}, {100, 40, 100, true}} {
		of, n := []int{}, c.groups*c.size
		for i := range n {
			of = append(of, 3*(i%c.groups))
		}
		seen := map[int]bool{}
		for i, rank := range automl.Ranks(automl.Options{Groups: of, Forward: c.forward}, rand.New(rand.NewPCG(1, 2))) {
			if rank < 1500 {
				seen[of[i]] = true
			}
		}
		folds, sizes := map[int]int{}, map[int]int{}
		for i, f := range automl.FoldsOfGroups(of, 5, c.forward) {
			before, known := folds[of[i]]
			require.True(t, !known || before == f)
			folds[of[i]] = f
			sizes[f]++
			if c.forward {
				assert.Equal(t, of[i]/3*10/c.groups-5, f)
			}
		}
		assert.Equal(t, c.want, len(seen), "%+v", c)
		for f, size := range sizes {
			assert.Equal(t, n/len(sizes), size, "%+v, fold %d", c, f)
		}
	}
}

// The report of rows in groups says the error at new groups, and bands hold their share there,
// within four standard errors of as many groups as are held out: all of them, or the last half if
// groups are times. Rows held out at random have 40 % of the error, and bands from them hold half
// of the targets.
func testGroups[T dense.Float](t *testing.T, forward bool) {
	n := 24
	if forward {
		n = 48 // as many groups are held out
	}
	rows, of := grouped[T](n, false, 1)
	other, _ := grouped[T](300, false, 2)
	r, err := automl.Fit(t.Context(), rows, automl.Options{Groups: of, Forward: forward, Landmarks: 20}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	held, folds := n, "of whole groups"
	if forward {
		held, folds = n/2, "forward in time"
	}
	assert.Equal(t, []any{5 * n, 5 * held, folds}, []any{r.Rows, r.HeldOut, r.Folds})
	assert.Contains(t, r.String(), "held-out rows "+folds)
	assert.InEpsilon(t, rmse(r.Model, other), r.Trials[r.Best].Score, 4/math.Sqrt(2*float64(held)))
	assert.InDelta(t, 0.9, inside(r.Model, other), 4*math.Sqrt(0.09/float64(held)))
}

func TestGroups(t *testing.T) {
	densetest.Both(t, func(t *testing.T) { testGroups[float32](t, true) }, func(t *testing.T) { testGroups[float64](t, false) })
}

// loss returns the log-loss of a classifier.
func loss(c *automl.Model[float64], b ridge.Block[float64]) (sum float64) {
	p := c.Probabilities(dense.Matrix[float64]{}, b.X)
	for i, class := range b.Y.Data {
		sum -= math.Log(p.At(i, int(class))) / float64(p.Rows)
	}
	return sum
}

// Probabilities of classes in groups are not surer than rows of new groups allow. Losses of groups
// have deviations of about 0.5.
func TestGroupsOfClasses(t *testing.T) {
	const n = 40
	rows, of := grouped[float64](n, true, 1)
	other, _ := grouped[float64](300, true, 2)
	r, err := automl.Fit(t.Context(), rows, automl.Options{Groups: of, Classes: 2, Landmarks: 20, ClassWeights: []float64{1, 1}}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	found := loss(r.Model, other)
	assert.Less(t, found, math.Ln2+4*0.5/math.Sqrt(n), "random folds have 2.2")
	assert.InDelta(t, found, r.Trials[r.Best].Score, 4*0.5/math.Sqrt(n))
}

func TestErrorsOfGroups(t *testing.T) {
	rows, of := grouped[float64](10, true, 1)
	fit := func(o automl.Options) error {
		_, err := automl.Fit(t.Context(), rows, o, rand.NewPCG(1, 2))
		return err
	}
	one := make([]int, len(of))
	for want, o := range map[string]automl.Options{
		"automl: Groups has 49 numbers, want one for each row, of which there are at least 50":                      {Groups: of[:49]},
		"automl: Groups has 51 numbers, want one for each of 50 rows":                                               {Groups: append(of, 1)},
		"automl: Forward without Groups, want the time of each row":                                                 {Forward: true},
		"automl: HeavyTails with Groups, whose noise is not chosen by group":                                        {Groups: of, HeavyTails: true},
		"automl: too few of 50 rows can be held out: want more groups, and in them each class and different values": {Groups: one},
	} {
		assert.EqualError(t, fit(o), want)
	}
}
