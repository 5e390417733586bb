package cost

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Figures by hand.
func TestCosts(t *testing.T) {
	s := Shape{Queries: 100, Keys: 200, Dim: 4, Values: 3, Features: 10, Projected: true}
	assert.Equal(t, Cost{MACs: 100 * 200 * 7, Exps: 20000}, s.Exact())
	assert.Equal(t, Cost{MACs: 300 * 10 * (4 + 4), Exps: 3000}, s.Linear())
	s.Projected = false
	assert.Equal(t, 300.0*10*4, s.Linear().MACs)

	s = Shape{Queries: 200, Keys: 200, Dim: 4, Values: 3, Features: 10, Projected: true, Causal: true}
	assert.Equal(t, Cost{MACs: 20100 * 7, Exps: 20100}, s.Exact())
	assert.Equal(t, 400.0*10*8+200*64*(10+4), s.Linear().MACs)
	s.Queries, s.Keys = 3, 3
	assert.Equal(t, 6.0*10*8+3*3*(10+4), s.Linear().MACs, "a chunk of three")
}

func TestCostPanics(t *testing.T) {
	assert.PanicsWithValue(t, "cost: {Queries:1 Keys:1 Dim:1 Values:1 Features:1 Projected:false Causal:false ElementSize:2}, want an ElementSize of 4 or 8",
		func() { Shape{Queries: 1, Keys: 1, Dim: 1, Values: 1, Features: 1, ElementSize: 2}.Exact() })
	assert.PanicsWithValue(t, "cost: {Queries:1 Keys:2 Dim:0 Values:0 Features:0 Projected:false Causal:true ElementSize:0} is causal, want as many queries as keys",
		func() { Shape{Queries: 1, Keys: 2, Causal: true}.Linear() })
	assert.PanicsWithValue(t, "cost: {Queries:-1 Keys:0 Dim:0 Values:0 Features:0 Projected:false Causal:false ElementSize:0} has a negative dimension",
		func() { Shape{Queries: -1}.Exact() })
}
