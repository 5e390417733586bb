package cache

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCopyPast copies to every place in a line, and looks at what lies around.
func TestCopyPast(t *testing.T) {
	t.Run("type=float32", testCopyPast[float32])
	t.Run("type=float64", testCopyPast[float64])
}

func testCopyPast[T float32 | float64](t *testing.T) {
	const most, guard = 70, -1
	src := make([]T, most+3)
	for i := range src {
		src[i] = T(i + 1)
	}
	for skip := range 20 {
		for n := range most + 1 {
			dst := make([]T, skip+n+20)
			for i := range dst {
				dst[i] = guard
			}
			from := src[skip%4:][:n]
			CopyPast(dst[skip:][:n], from)
			require.Equal(t, from, dst[skip:][:n])
			for i, v := range dst {
				if i < skip || i >= skip+n {
					require.EqualValues(t, guard, v, "element %d, skip %d, n = %d", i, skip, n)
				}
			}
		}
	}
	assert.Panics(t, func() { CopyPast(make([]T, 3), src[:2:2]) })
	assert.Zero(t, int(testing.AllocsPerRun(10, func() { CopyPast(src[:30], src[30:60]) })))
}
