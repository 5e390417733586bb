package cost

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Figures by hand.
func TestCosts(t *testing.T) {
	s := Shape{Queries: 100, Keys: 200, Dim: 4, Values: 3, Features: 10}
	assert.Equal(t, Cost{MACs: 100 * 200 * 7, Exps: 20000}, s.Exact())
	assert.Equal(t, Cost{MACs: 300 * 10 * (4 + 4), Exps: 3000}, s.Linear())

	s = Shape{Queries: 200, Keys: 200, Dim: 4, Values: 3, Features: 10, Causal: true}
	assert.Equal(t, Cost{MACs: 20100 * 7, Exps: 20100}, s.Exact())
	assert.Equal(t, 400.0*10*8+200*64*(10+4), s.Linear().MACs)
	s.Queries, s.Keys = 3, 3
	assert.Equal(t, 6.0*10*8+3*3*(10+4), s.Linear().MACs, "a chunk of three")
}
