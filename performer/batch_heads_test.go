package performer_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer"
)

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
