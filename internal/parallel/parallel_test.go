package parallel

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestRowsCoversEveryRowOnce(t *testing.T) {
	for _, procs := range []int{1, 2, 5} {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		for _, n := range []int{0, 1, 7, 64, 65} {
			for _, grain := range []int{-1, 1, 8, 100} {
				counts := make([]atomic.Int32, n)
				Rows(n, grain, func(lo, hi int) {
					assert.LessOrEqual(t, hi-lo, max(grain, 1))
					for i := lo; i < hi; i++ {
						counts[i].Add(1)
					}
				})
				for i := range counts {
					assert.EqualValues(t, 1, counts[i].Load(), "n=%d grain=%d row %d", n, grain, i)
				}
			}
		}
	}
}

func TestPanicReachesCaller(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	assert.PanicsWithValue(t, "row 17", func() {
		Pieces(40, func(i int) {
			if i == 17 {
				panic("row 17")
			}
		})
	})
}
