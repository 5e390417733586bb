package hadamard_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/hadamard"
)

// changes counts the changes of sign of a row.
func changes(row []float32) (count int) {
	for j := 1; j < len(row); j++ {
		if row[j] != row[j-1] {
			count++
		}
	}
	return count
}

// Every order up to 1000 is a power of two, whose row s in sequency order changes sign s times, or
// has rows that change sign equally often, and a panic.
func TestSequencyOrder(t *testing.T) {
	for n := 1; n <= 1000; n++ {
		switch {
		case n&(n-1) == 0:
			h, order := hadamard.Matrix[float32](n), hadamard.SequencyOrder(n)
			require.Len(t, order, n)
			for s, i := range order {
				require.Equal(t, s, changes(h.Row(i)), "n = %d: row %d", n, i)
			}
			continue
		case isOrder(n) && n <= 200:
			h, rows := hadamard.Matrix[float32](n), map[int]int{}
			for i := range n {
				rows[changes(h.Row(i))]++
			}
			assert.Less(t, len(rows), n, "n = %d: rows that change sign equally often", n)
		}
		assert.Panics(t, func() { hadamard.SequencyOrder(n) }, "n = %d", n)
	}
}
