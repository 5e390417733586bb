package performer_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

// Heads are the form over views, bit for bit, for any number of processors, into new
// memory, a view, and the inputs themselves.
func TestBatchOfHeads(t *testing.T) {
	densetest.Both(t, testHeads[float32], testHeads[float64])
}

func testHeads[T dense.Float](t *testing.T) {
	const n, d = 150, 4
	rng := rand.New(densetest.Source(100))
	for _, form := range everyForm[T](d) {
		for _, heads := range []int{1, 3, 8} {
			q, k, v := densetest.Normal[T](rng, n, heads*d, 0, 1), densetest.Normal[T](rng, n, heads*d, 0, 1), densetest.Normal[T](rng, n, heads*d, 0, 1)
			want := dense.New[T](n, heads*d)
			for h := range heads {
				from, to := h*d, (h+1)*d
				form.Forward(want.ColRange(from, to), q.ColRange(from, to), k.ColRange(from, to), v.ColRange(from, to))
			}
			all := must.Have(performer.NewBatch(performer.BatchOptions{Heads: heads}, form))
			assert.Equal(t, [2]int{heads, heads}, [2]int{all.Describe().Heads, all.Describe().KeyHeads})
			for _, processors := range []int{1, 2, 5} {
				before := runtime.GOMAXPROCS(processors)
				got := all.Forward(dense.Matrix[T]{}, q, k, v)
				runtime.GOMAXPROCS(before)
				require.True(t, densetest.Identical(want, got), "%T, %d heads, %d processors", form, heads, processors)
			}
			wide := densetest.Filled[T](n, heads*d+2, 7)
			all.Forward(wide.ColRange(1, heads*d+1), q, k, v)
			require.True(t, densetest.Identical(want, wide.ColRange(1, heads*d+1)), "%T: into a view", form)
			assert.Equal(t, densetest.Filled[T](n, 1, 7), wide.ColRange(0, 1).Clone(), "left of it")
			require.True(t, densetest.Identical(want, all.Forward(q, q, k, v)), "%T, %d heads: into q", form, heads)
		}
	}
}

// Values may be wider than keys, and queries fewer.
func TestBatchOfOtherShapes(t *testing.T) {
	rng := rand.New(densetest.Source(101))
	q, k, v := densetest.Normal[float64](rng, 5, 8, 0, 1), densetest.Normal[float64](rng, 70, 8, 0, 1), densetest.Normal[float64](rng, 70, 6, 0, 1)
	got := must.Have(performer.NewBatch[float64](performer.BatchOptions{Heads: 2}, must.Have(performer.NewExact[float64](performer.ExactOptions{})))).Forward(dense.Matrix[float64]{}, q, k, v)
	for h := range 2 {
		want := must.Have(performer.NewExact[float64](performer.ExactOptions{})).Forward(dense.Matrix[float64]{}, q.ColRange(4*h, 4*h+4), k.ColRange(4*h, 4*h+4), v.ColRange(3*h, 3*h+3))
		assert.Equal(t, want, got.ColRange(3*h, 3*h+3).Clone())
	}
}

func TestBatchOfHeadsErrors(t *testing.T) {
	_, err := performer.NewBatch[float32](performer.BatchOptions{Heads: 2}, nil)
	assert.EqualError(t, err, "performer: attention 0 is nil")
	_, err = performer.NewBatch[float32](performer.BatchOptions{Heads: 0}, must.Have(performer.NewExact[float32](performer.ExactOptions{})))
	assert.EqualError(t, err, "performer: Heads = 0, KeyHeads = 0, want at least 1 and Heads a multiple of KeyHeads")
	h := must.Have(performer.NewBatch[float32](performer.BatchOptions{Heads: 3}, must.Have(performer.NewExact[float32](performer.ExactOptions{}))))
	mat := dense.New[float32]
	var none dense.Matrix[float32]
	for want, f := range map[string]func(){
		"performer: q is 5×6, k is 7×6, v is 7×4, want columns of 3 heads of queries and 3 of keys and values": func() { h.Forward(none, mat(5, 6), mat(7, 6), mat(7, 4)) },
		"performer: q is 5×4, k is 7×4, v is 7×3, want columns of 3 heads of queries and 3 of keys and values": func() { h.Forward(none, mat(5, 4), mat(7, 4), mat(7, 3)) },
		"performer: q is 5×6, k is 7×3, v is 7×3, want columns of 3 heads of queries and 3 of keys and values": func() { h.Forward(none, mat(5, 6), mat(7, 3), mat(7, 3)) },
		"dense: destination is 5×6, want 5×3": func() { h.Forward(mat(5, 6), mat(5, 6), mat(7, 6), mat(7, 3)) },
	} {
		assert.PanicsWithValue(t, want, f, fmt.Sprint(want))
	}
}
