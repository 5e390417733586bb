package limit

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMemory(t *testing.T) {
	for _, fits := range []error{
		Memory[float64](), Memory[float64](0), Memory[float64](1<<12, 1<<10), Memory[struct{}](1<<20, 1),
		Memory[[3]float64](0, 1<<20), Memory[byte](1 << 26),
	} {
		assert.NoError(t, fits)
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"one count":        {Memory[float64](math.MaxInt), "of memory, want at most "},
		"a product":        {Memory[float32](math.MaxInt32, math.MaxInt32), "16 EiB of memory, want at most "},
		"2⁶⁴ is 0":         {Memory[float64](1<<31-1, 1<<31-1, 1<<31-1), "of memory, want at most "},
		"rows of nothing":  {Memory[float64](math.MaxInt, 0), "of memory, want at most "},
		"no size":          {Memory[struct{}](math.MaxInt, 2), "of memory, want at most "},
		"negative":         {Memory[float64](4, -3), "a count of -3, want at least 0"},
		"negative and big": {Memory[float64](math.MinInt, 0), "want at least 0"},
	} {
		assert.ErrorContains(t, c.err, c.want, name)
	}
}

// TestMost asks for the largest block, and for one element more. The largest block is the same on
// every machine.
func TestMost(t *testing.T) {
	assert.Contains(t, []int64{1 << 30, 1 << 40}, int64(Most))
	assert.NoError(t, Memory[float64](Most/8))
	assert.Error(t, Memory[float64](Most/8+1))
	assert.Zero(t, testing.AllocsPerRun(100, func() {
		if Memory[float64](Most/8, 1) != nil {
			t.Fail()
		}
	}))
}

func TestText(t *testing.T) {
	for size, want := range map[float64]string{
		8: "8 B", 1536: "1.5 KiB", 1 << 40: "1 TiB", 0x1p65: "32 EiB", 0x1p75: "3.277e+04 EiB", 25276063744: "23.54 GiB",
	} {
		assert.Equal(t, want, text(size))
	}
}

func TestRepeats(t *testing.T) {
	assert.Contains(t, []int64{math.MaxInt32, 1<<40 - 1}, int64(Repeats))
}
