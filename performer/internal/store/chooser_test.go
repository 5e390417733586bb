package store

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/hadamard"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer/internal/tiles"
)

// chooserOf returns the chooser of a store, its slabs, and its memory of a call.
func chooserOf[T dense.Float](s *Store[T]) (*keyChooser[T], *slabs[T], *headQueries[T]) {
	switch c := s.content.(type) {
	case *elements[T]:
		return &c.chooser, &c.slabs, &c.headQueries
	case *codes[T]:
		return &c.chooser, &c.slabs, &c.headQueries
	}
	return nil, nil, nil
}

// rest returns the estimates of the tokens that the query of the last token does not read, and the
// mean values of segments, both by their definitions from what the store holds. Estimates of the
// store are near these.
func (o *operations) rest(q []float64) (estimates map[int]float64, means map[int][]float64) {
	s := o.s
	c, l, on := chooserOf(s)
	on.begin(s, dense.New[float64](1, o.dv), dense.Of(1, o.d, q), false)
	c.on, c.slabs = on, l
	if c.given == nil || c.seen(0) <= c.given[0].Keys+More {
		return nil, nil
	}
	var w choice[float64]
	w.begin(c, 0, 0)
	if w.tokens == 0 {
		return nil, nil
	}
	require.True(o.t, w.estimate())
	got := slices.Clone(w.estimates)
	w.bias(got)
	w.must(got)
	list := make([]int, 0, len(got)) // estimates from the highest down, the first of equals first
	for i, v := range got {
		if v > hidden {
			list = append(list, i)
		}
	}
	slices.SortStableFunc(list, func(i, j int) int {
		switch {
		case got[i] > got[j]:
			return -1
		case got[i] < got[j]:
			return 1
		}
		return 0
	})
	last, rotation, order := len(o.k)-1, c.sides[0].rotation, c.sides[0].order
	estimates, means = map[int]float64{}, map[int][]float64{}
	segments := map[int][][]float64{}
	rotated := rotation.ApplyVec(make([]float64, order), q)
	bytes := scanStep(rotated)
	for n, i := range list {
		token := w.token(i)
		segment := token / Segment
		keys := segments[segment]
		if keys == nil {
			all, values := o.segment(segment)
			keys = append(all, make([]float64, o.d)) // with the mean
			means[segment] = make([]float64, o.dv)
			for j := range all {
				floats.AddScaled(keys[Segment], 1./Segment, all[j])
				floats.AddScaled(means[segment], 1./Segment, values[j])
			}
			segments[segment] = keys
		}
		mean := keys[Segment]
		y := rotation.ApplyVec(make([]float64, order), floats.SubTo(make([]float64, o.d), keys[token%Segment], mean))
		ofMean := floats.Dot(q, mean)
		if slab, row := l.at(token, 0); slab.elements[0] == nil { // rounding may change signs
			var b segmentScratch[float64]
			b.read(&slab.codes[0], row)
			copy(y, b.decoded)
			b.read(&slab.means[0], row/Segment)
			ofMean = floats.Dot(rotated, b.decoded)
		}
		var product, sum, uncertain float64
		for l, v := range y {
			if v > 0 {
				product += rotated[l]
			} else {
				product -= rotated[l]
			}
			sum += math.Abs(v)
			if math.Abs(v) < 1e-3 { // the mean is rounded
				uncertain += 2 * math.Abs(rotated[l])
			}
		}
		factor := floats.Dot(y, y) / sum
		want := s.of.Scores[0].Scale * (ofMean + factor*product)
		tolerance := s.of.Scores[0].Scale * (factor*(bytes*float64(order)/8+floats.Norm(rotated, 1)/256+uncertain) + 0.02*floats.Norm(q, 2))
		if c := s.of.Scores[0].Softcap; c != 0 {
			want = c * math.Tanh(want/c)
		}
		want -= s.of.Places.Slope * float64(last-token)
		if !(math.Abs(want-float64(got[i])) <= tolerance) {
			require.InDelta(o.t, want, float64(got[i]), tolerance, "token %d of %d", token, len(o.k))
		}
		if n >= c.given[0].Keys {
			estimates[token] = float64(got[i])
		}
	}
	return estimates, means
}

// scanStep returns the step of the tables of a query.
func scanStep(rotated []float64) float64 {
	most := 0.0
	for at := 0; at < len(rotated); at += 4 {
		most = max(most, 2*floats.Norm(rotated[at:min(at+4, len(rotated))], 1)/127)
	}
	return most
}

// segment returns the keys and values that the store has of a closed segment.
func (o *operations) segment(n int) (keys, values [][]float64) {
	var b segmentScratch[float64]
	for token := n * Segment; token < (n+1)*Segment; token++ {
		key, value := make([]float64, o.d), make([]float64, o.dv)
		switch c := o.s.content.(type) {
		case *codes[float64]:
			c.decodeToken(&b, [2][]float64{key, value}, token, 0)
		case *elements[float64]:
			slab, row := c.at(token, 0)
			copy(key, slab.elements[0].of(row, 1))
			copy(value, slab.elements[1].of(row, 1))
		}
		keys, values = append(keys, key), append(values, value)
	}
	return keys, values
}

// Estimates of scores are unbiased over rotations, with the variance
//
//	s²·‖r‖²·‖q − (qᵀu)u‖²·(1/cos² − 1)/(d − 1),  u = r/‖r‖,  cos = ‖Rr‖₁/(√d·‖r‖),
//
// for a difference r of a key from the mean of its segment. The factor of the least squared error
// shrinks estimates, and is caught.
func TestEstimatesAreUnbiased(t *testing.T) {
	const d, n, rotations, scale = 64, 256, 300, 0.125
	rng := rand.New(rand.NewPCG(51, 1))
	k, q := densetest.Normal[float64](rng, n, d, 0, 1), densetest.Normal[float64](rng, 1, d, 0, 2)
	for i := range n {
		k.Row(i)[3] += 9 // keys have a common part, and different sizes
		floats.Scale(0.5+rng.Float64(), k.Row(i))
	}
	scores := []tiles.Scores{{Scale: scale}}
	var slopes, shrunk, ratios []float64
	for range rotations {
		s := newOf[float64]([2]int{}, 1, scores, Places{}, d, d)
		c, l, on := chooserOf(s)
		c.sides[0].rotation = must.Have(hadamard.NewRotation[float64](d, hadamard.RotationOptions{Factors: 3}, rng))
		s.Append(k, k)
		on.begin(s, dense.New[float64](1, d), q, false)
		c.on, c.slabs = on, l
		var w choice[float64]
		w.begin(c, 0, 0)
		require.True(t, w.estimate())
		var slope, shrunkSlope, norm, errors, law float64
		for from := 0; from < n; from += Segment {
			mean := make([]float64, d)
			for i := range Segment {
				floats.AddScaled(mean, 1./Segment, k.Row(from+i))
			}
			for i := from; i < from+Segment; i++ {
				r := floats.SubTo(make([]float64, d), k.Row(i), mean)
				size, along := floats.Norm(r, 2), scale*floats.Dot(q.Row(0), r)
				cos := floats.Norm(c.sides[0].rotation.ApplyVec(make([]float64, d), r), 1) / (8 * size)
				estimated := float64(w.estimates[i]) - scale*floats.Dot(q.Row(0), mean)
				slope += (estimated - along) * along
				shrunkSlope += (estimated*cos*cos - along) * along
				norm += along * along
				errors += (estimated - along) * (estimated - along)
				across := scale*scale*floats.Dot(q.Row(0), q.Row(0))*size*size - along*along
				law += across * (1/(cos*cos) - 1) / (d - 1)
			}
		}
		slopes, shrunk, ratios = append(slopes, slope/norm), append(shrunk, shrunkSlope/norm), append(ratios, errors/law)
	}
	distance := func(x []float64, want float64) float64 {
		mean, sd := stat.MeanStdDev(x, nil)
		return math.Abs(mean-want) / (sd / math.Sqrt(rotations))
	}
	assert.Less(t, distance(slopes, 0), 4.5)
	assert.Greater(t, distance(shrunk, 0), 20.)
	assert.Less(t, distance(ratios, 1), 4.5)
	t.Logf("slope %.4f, shrunk %.3f, error over its law %.3f", stat.Mean(slopes, nil), stat.Mean(shrunk, nil), stat.Mean(ratios, nil))
}
