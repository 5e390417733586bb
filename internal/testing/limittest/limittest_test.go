package limittest_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/internal/memory/limit"
	"github.com/seed-feabd252/randfeat/internal/testing/limittest"
)

// counter counts the failures of a test that it stands for.
type counter struct {
	testing.TB
	failures int
}

func (c *counter) Helper() {}

func (c *counter) Errorf(string, ...any) { c.failures++ }

// TestMemory: a check that let every error pass would pass every test.
func TestMemory(t *testing.T) {
	memory := limit.Memory[float64](math.MaxInt)
	for _, c := range []struct {
		err  error
		fail int
	}{
		{fmt.Errorf("pkg: n = 3: %w", memory), 0},
		{fmt.Errorf("pkg: n = 4: %w", memory), 1},
		{fmt.Errorf("n = 3: %w", memory), 1},
		{errors.New("pkg: n = 3: too large"), 1},
		{nil, 1},
	} {
		test := &counter{TB: t}
		limittest.Memory(test, "pkg")("n = %d: ", 3)(nil, c.err)
		assert.Equal(t, c.fail, test.failures, "%v", c.err)
	}
}
