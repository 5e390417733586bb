package performer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/performer"
)

// Zero values of what a constructor has to make say so.
func TestZeroValues(t *testing.T) {
	x := dense.New[float32](1, 1)
	var none dense.Matrix[float32]
	for want, calls := range map[string][]func(){
		"performer: the Linear is zero, want one of NewLinear": {
			func() { new(performer.Linear[float32]).Forward(none, x, x, x) },
			func() { new(performer.Linear[float32]).Weights(none, x, x) },
		},
		"performer: the Batch is zero, want one of NewBatch": {
			func() { new(performer.Batch[float32]).Forward(none, x, x, x) },
			func() { new(performer.Batch[float32]).Backward(none, none, none, x, x, x, x) },
		},
	} {
		for _, call := range calls {
			assert.PanicsWithValue(t, want, call)
		}
	}
	_, err := new(performer.Batch[float32]).NewState(1, 1)
	assert.EqualError(t, err, "performer: the Batch is zero, want one of NewBatch")
	_, err = new(performer.Linear[float32]).NewState(1, 1)
	assert.EqualError(t, err, "performer: the Linear is zero, want one of NewLinear")
	assert.NotPanics(t, func() { (performer.Exact[float32]{}).Forward(none, x, x, x) }, "the zero Exact is of use")
}
