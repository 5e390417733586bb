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

func TestCostOfLandmarks(t *testing.T) {
	s := Shape{Queries: 100, Keys: 5000, Dim: 4, Values: 3, Features: 10}
	assert.Equal(t, Cost{MACs: 5100*10*8 + 1024*4 + 2*100*(4+10) + 100*(10/6.0+8), Exps: 51000 + 200, Steps: 10}, s.Landmarks())
	assert.Equal(t, s.Landmarks().MACs+expMACs32*s.Landmarks().Exps+10*stepMACs, s.Work(s.Landmarks()))
	s.Features = 100
	assert.Equal(t, 510000.0+2*10000, s.Landmarks().Exps)
	s.Features = 500
	assert.Equal(t, 5100*500*8+5000*4+2*250000*(4+500)+250000*(500/6.0+8), s.Landmarks().MACs, "no more keys than there are")
	s.Features = 5000
	assert.Equal(t, s.Exact(), s.Landmarks(), "every key is a landmark")
}

func TestCostPanics(t *testing.T) {
	assert.PanicsWithValue(t, "cost: {Queries:1 Keys:1 Dim:1 Values:1 Features:1 Projected:false Causal:false ElementSize:2}, want an ElementSize of 4 or 8",
		func() { Shape{Queries: 1, Keys: 1, Dim: 1, Values: 1, Features: 1, ElementSize: 2}.Exact() })
	assert.PanicsWithValue(t, "cost: {Queries:1 Keys:2 Dim:0 Values:0 Features:0 Projected:false Causal:true ElementSize:0} is causal, want as many queries as keys",
		func() { Shape{Queries: 1, Keys: 2, Causal: true}.Linear() })
	assert.PanicsWithValue(t, "cost: {Queries:-1 Keys:0 Dim:0 Values:0 Features:0 Projected:false Causal:false ElementSize:0} has a negative dimension",
		func() { Shape{Queries: -1}.Exact() })
}
