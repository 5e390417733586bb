package kmeans_test

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/kmeans"
)

func source() rand.Source { return rand.NewPCG(1, 2) }

func cluster[T dense.Float](t *testing.T, x dense.Matrix[T], k, iterations int, opts kmeans.Options[T]) kmeans.Clusters[T] {
	t.Helper()
	opts.MaxIterations = iterations
	c := must.Have(kmeans.Cluster(t.Context(), x, k, opts, source()))
	return c
}

// groups returns n rows around k centres that are far apart, row i around centre i mod k.
func groups[T dense.Float](n, k, d int, shift float64) dense.Matrix[T] {
	rng := rand.New(rand.NewPCG(3, 4))
	x := densetest.Normal[T](rng, n, d, shift, 0.1)
	for i := range n {
		x.Row(i)[i%k%d] += T(10 * (1 + i%k/d))
	}
	return x
}

// nearest returns the nearest of the centres by direct distances, and the squared distance.
func nearest[T dense.Float](x []T, centres dense.Matrix[T]) (at int, least float64) {
	least = math.Inf(1)
	for c := range centres.Rows {
		var q float64
		for j, v := range x {
			q += math.Pow(float64(v)-float64(centres.At(c, j)), 2)
		}
		if q < least {
			at, least = c, q
		}
	}
	return at, least
}

func TestCluster(t *testing.T) { densetest.Both(t, testCluster[float32], testCluster[float64]) }

// Clusters that are far apart are found whatever their common shift; labels are of the nearest
// centres, centres are means, and the inertia is the sum of squared distances.
func testCluster[T dense.Float](t *testing.T) {
	for _, shift := range []float64{0, 300} {
		for _, opts := range []kmeans.Options[T]{{}, {Sample: 150}, {Start: groups[T](6, 6, 4, shift)}} {
			x := groups[T](600, 6, 4, shift)
			c := cluster(t, x, 6, 50, opts)
			sums, counts := dense.New[float64](6, 4), make([]float64, 6)
			var inertia float64
			for i, label := range c.Labels {
				at, q := nearest(x.Row(i), c.Centres)
				assert.Equal(t, at, label)
				assert.Equal(t, c.Labels[i%6], label, "a row of the same group")
				inertia += q
				for j, v := range x.Row(i) {
					sums.Row(label)[j] += float64(v)
				}
				counts[label]++
			}
			assert.Equal(t, slices.Repeat([]float64{100}, 6), counts)
			// A centre off by δ in each of d coordinates changes a distance q by 2·δ·√(d·q) + d·δ².
			delta := densetest.Roundoff[T]() * (shift + 30)
			assert.InDelta(t, inertia, c.Inertia, 2*delta*math.Sqrt(4*600*inertia)+600*4*delta*delta)
			for l := range 6 {
				for j := range 4 {
					if opts.Sample == 0 {
						assert.InDelta(t, sums.At(l, j)/100, float64(c.Centres.At(l, j)), 2*delta+100*0x1p-52*(shift+30))
					}
				}
			}
		}
	}
}

// More processors, another unit of length and a wider stride change nothing.
func TestClusterIsDeterministic(t *testing.T) {
	x := densetest.Normal[float64](rand.New(rand.NewPCG(5, 6)), 700, 3, 1, 1)
	opts := kmeans.Options[float64]{Sample: 600}
	want := cluster(t, x, 9, 12, opts)
	before := runtime.GOMAXPROCS(1)
	one := cluster(t, x, 9, 12, opts)
	runtime.GOMAXPROCS(before)
	assert.Equal(t, want, one)
	for _, e := range []int{-600, 600} {
		scaled := x.Clone()
		for i, v := range scaled.Data {
			scaled.Data[i] = math.Ldexp(v, e)
		}
		got := cluster(t, scaled, 9, 12, opts)
		assert.Equal(t, want.Labels, got.Labels)
		assert.Equal(t, math.Ldexp(want.Inertia, 2*e), got.Inertia)
		for i, v := range want.Centres.Data {
			assert.Equal(t, math.Ldexp(v, e), got.Centres.Data[i])
		}
	}
}

// Without iterations the centres are rows of x, or those given, to the last bit.
func TestClusterWithoutIterations(t *testing.T) {
	x := densetest.Normal[float32](rand.New(rand.NewPCG(7, 8)), 90, 5, 3, 1)
	c := cluster(t, x, 7, -1, kmeans.Options[float32]{Sample: 40})
	assert.Zero(t, c.Iterations)
	for i := range c.Centres.Rows {
		at, q := nearest(c.Centres.Row(i), x)
		assert.Zero(t, q)
		assert.Equal(t, i, c.Labels[at])
	}
	start := x.RowRange(3, 5)
	given := must.Have(kmeans.Cluster(t.Context(), x, 2, kmeans.Options[float32]{MaxIterations: -1, Start: start}, nil))
	assert.Equal(t, start.Clone(), given.Centres)
}

// k-means++ draws the first centre in proportion to the weight, and the second in proportion to
// weight times squared distance: among 1, 3 and 9 beside a first centre 0, the 9 has 81/91.
func TestSeedsFollowSquaredDistances(t *testing.T) {
	const runs = 4000
	x := dense.Of(4, 1, []float64{0, 1, 3, 9})
	for _, c := range []struct {
		weights  []float64
		first, p float64
	}{{nil, 0.25, 81.0 / 91}, {[]float64{30, 27, 3, 1.0 / 3}, 90.0 / 181, 1.0 / 3}} {
		src := source()
		var first, ninth float64
		for range runs {
			c := must.Have(kmeans.Cluster(t.Context(), x, 2, kmeans.Options[float64]{MaxIterations: -1, Weights: c.weights}, src))
			if c.Centres.At(0, 0) == 0 {
				first++
				if c.Centres.At(1, 0) == 9 {
					ninth++
				}
			}
		}
		assert.InDelta(t, c.first, first/runs, 4.5*math.Sqrt(0.25*0.75/runs))
		assert.InDelta(t, c.p, ninth/first, 4.5*math.Sqrt(c.p*(1-c.p)/first))
	}
}

// A centre without rows takes the row that is farthest from its own centre.
func TestEmptyClusters(t *testing.T) {
	x := dense.Of(6, 1, []float64{0, 0.1, 0.2, 5, 5.1, 40})
	far := dense.Of(3, 1, []float64{0, 1000, 2000})
	c := cluster(t, x, 3, 20, kmeans.Options[float64]{Start: far})
	slices.Sort(c.Centres.Data)
	for i, want := range []float64{0.1, 5.05, 40} {
		assert.InDelta(t, want, c.Centres.Data[i], 1e-13)
	}
	equal := dense.Of(4, 1, []float64{7, 7, 7, 7})
	c = cluster(t, equal, 3, 5, kmeans.Options[float64]{})
	assert.Equal(t, []float64{7, 7, 7}, c.Centres.Data)
	assert.Zero(t, c.Inertia)
}

func TestErrors(t *testing.T) {
	x := dense.Of(3, 2, []float64{1, 2, 3, 4, 5, 6})
	wrong := x.Clone()
	wrong.Data[3] = math.NaN()
	infinite := x.RowRange(0, 2).Clone()
	infinite.Data[0] = math.Inf(1)
	type options = kmeans.Options[float64]
	for _, c := range []struct {
		x    dense.Matrix[float64]
		k    int
		opts options
		src  rand.Source
		want string
	}{
		{dense.Matrix[float64]{}, 1, options{}, source(), "x is 0×0, want at least 1×1"},
		{x, 0, options{}, source(), "k = 0, want 1 to 3, the rows of x"},
		{x, 4, options{}, source(), "k = 4, want 1 to 3, the rows of x"},
		{x, 3, options{Sample: 2}, source(), "k = 3, want 1 to 2, the rows of the sample"},
		{x, 1, options{Sample: 4}, source(), "Options.Sample = 4, want 0 to 3, the rows of x"},
		{x, 1, options{MaxIterations: -2}, source(), "Options.MaxIterations = -2, want -1 to "},
		{x, 1, options{Start: x}, source(), "Options.Start is 3×2, want 1×2"},
		{x, 1, options{}, nil, "src is nil"},
		{x, 2, options{Start: x.RowRange(0, 2), Sample: 2}, nil, "src is nil"},
		{x, 1, options{Starts: -1}, source(), "Options.Starts = -1, want 0 to "},
		{x, 3, options{Start: x, Starts: 2}, source(), "Options.Starts = 2 beside Options.Start, want at most 1"},
		{x, 1, options{Weights: []float64{1}}, source(), "Options.Weights has 1 weights, want 3, the rows of x"},
		{x, 1, options{Weights: []float64{1, math.NaN(), 1}}, source(), "Options.Weights[1] = NaN, want a finite number from 0 on"},
		{x, 2, options{Weights: []float64{1, 0, 0}}, source(), "1 rows have weights above 0, want at least 2"},
		{wrong, 1, options{}, source(), "x[1][1] = NaN, want a finite number"},
		{x, 2, options{Start: infinite}, nil, "Options.Start[0][0] = +Inf, want a finite number"},
	} {
		_, err := kmeans.Cluster(t.Context(), c.x, c.k, c.opts, c.src)
		assert.ErrorContains(t, err, "kmeans: "+c.want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, opts := range []options{{}, {Start: x}} {
		_, err := kmeans.Cluster(ctx, x, 3, opts, source())
		assert.ErrorIs(t, err, context.Canceled)
	}
}

func TestNilContext(t *testing.T) {
	var none context.Context
	x := dense.New[float64](3, 2)
	assert.PanicsWithValue(t, "kmeans: ctx is nil", func() { _, _ = kmeans.Cluster(none, x, 1, kmeans.Options[float64]{MaxIterations: 1}, source()) })
}
