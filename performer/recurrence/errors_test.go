package recurrence_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/performer/recurrence"
)

func TestRecurrenceErrors(t *testing.T) {
	for want, o := range map[string]recurrence.Options{
		"recurrence: Heads = 0, KeyHeads = 1, want at least 1 and Heads a multiple of KeyHeads": {KeyHeads: 1},
		"recurrence: Heads = 4, KeyHeads = 3, want at least 1 and Heads a multiple of KeyHeads": {Heads: 4, KeyHeads: 3},
		"recurrence: Rule = 4, want one of Linear (0) to GatedDelta (3)":                        {Heads: 1, Rule: 4},
		"recurrence: Scale = NaN, want a finite number":                                         {Heads: 1, Scale: math.NaN()},
	} {
		_, err := recurrence.New[float32](o)
		assert.EqualError(t, err, want)
	}
	assert.Equal(t, "linear gated delta gated_delta Rule(9)", fmt.Sprint(recurrence.Linear, " ", recurrence.Gated, " ", recurrence.Delta, " ", recurrence.GatedDelta, " ", recurrence.Rule(9)))
}

func TestRecurrenceShapesPanic(t *testing.T) {
	mat := dense.New[float32]
	var none dense.Matrix[float32]
	good := recurrence.Tokens[float32]{Q: mat(5, 12), K: mat(5, 6), V: mat(5, 4), Decay: mat(5, 2), Beta: mat(5, 1)}
	with := func(change func(x *recurrence.Tokens[float32])) recurrence.Tokens[float32] {
		x := good
		change(&x)
		return x
	}
	r := must.Have(recurrence.New[float32](recurrence.Options{Heads: 4, KeyHeads: 2, Rule: recurrence.GatedDelta}))
	assert.NotPanics(t, func() { r.Forward(none, good, none, none) })
	for want, x := range map[string]recurrence.Tokens[float32]{
		"recurrence: q is 4×12, k is 5×6, want as many queries as keys":                                     with(func(x *recurrence.Tokens[float32]) { x.Q = mat(4, 12) }),
		"recurrence: q is 5×8, k is 5×6, want columns of 4 heads of queries and 2 of keys of one dimension": with(func(x *recurrence.Tokens[float32]) { x.Q = mat(5, 8) }),
		"recurrence: k is 5×6, v is 6×4, want as many values as keys":                                       with(func(x *recurrence.Tokens[float32]) { x.V = mat(6, 4) }),
		"recurrence: k is 5×6, v is 5×3, want columns that 2 heads of keys and 2 of values can share":       with(func(x *recurrence.Tokens[float32]) { x.V = mat(5, 3) }),
		"recurrence: decay is 5×3, k is 5×6, want 5×2 or 5×6 for the gated_delta rule":                      with(func(x *recurrence.Tokens[float32]) { x.Decay = mat(5, 3) }),
		"recurrence: decay is 0×0, k is 5×6, want 5×2 or 5×6 for the gated_delta rule":                      with(func(x *recurrence.Tokens[float32]) { x.Decay = none }),
		"recurrence: beta is 4×1, k is 5×6, want 5×1 or 5×2 for the gated_delta rule":                       with(func(x *recurrence.Tokens[float32]) { x.Beta = mat(4, 1) }),
		"recurrence: Tokens.Lengths is [2 2], want a sum of 5":                                              with(func(x *recurrence.Tokens[float32]) { x.Lengths = []int{2, 2} }),
		"recurrence: Tokens.Lengths has -1 at 1, want no negative length":                                   with(func(x *recurrence.Tokens[float32]) { x.Lengths = []int{2, -1, 4} }),
	} {
		assert.PanicsWithValue(t, want, func() { r.Forward(none, x, none, none) })
	}
	for want, f := range map[string]func(){
		"recurrence: past is 6×3, want 6×2: 1 sequences, 2 heads of values and 3×2 sums of each":    func() { r.Forward(none, good, mat(6, 3), none) },
		"recurrence: present is 5×2, want 6×2: 1 sequences, 2 heads of values and 3×2 sums of each": func() { r.Forward(none, good, none, mat(5, 2)) },
		"dense: destination is 5×7, want 5×8":                                                       func() { r.Forward(mat(5, 7), good, none, none) },
		"recurrence: decay is 5×2, want none for the linear rule": func() {
			must.Have(recurrence.New[float32](recurrence.Options{Heads: 4, KeyHeads: 2})).Forward(none, good, none, none)
		},
		"recurrence: beta is 5×1, want none for the gated rule": func() {
			must.Have(recurrence.New[float32](recurrence.Options{Heads: 4, KeyHeads: 2, Rule: recurrence.Gated})).Forward(none, good, none, none)
		},
	} {
		assert.PanicsWithValue(t, want, f)
	}
}
