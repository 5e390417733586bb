package scan

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Rows of 3 bits come back in every tier, of one row and of groups, whatever their memory held.
func TestThree(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 2))
	for _, words := range []int{1, 2, 3, 8, 25} {
		for groups := range 4 {
			n := groups * GroupRows
			rows, narrow := make([]uint64, n*words), randomRows(groups*ThreeWords(words))
			for i := range rows {
				rows[i] = r.Uint64()&threeBits + four
			}
			for _, i := range r.Perm(n) {
				PutThree(narrow[i/GroupRows*ThreeWords(words):], rows[i*words:][:words], i%GroupRows)
			}
			row := make([]uint64, words)
			for i := range n {
				TakeThree(row, narrow[i/GroupRows*ThreeWords(words):], i%GroupRows)
				require.Equal(t, rows[i*words:][:words], row)
			}
			everyTier(t, func(t *testing.T) {
				got := randomRows(len(rows) + 1)
				last := got[len(rows)]
				WidenThree(got, narrow, groups, words)
				require.Equal(t, append(rows[:len(rows):len(rows)], last), got)
			})
		}
	}
}

func randomRows(n int) []uint64 {
	r := rand.New(rand.NewPCG(1, 1))
	rows := make([]uint64, n)
	for i := range rows {
		rows[i] = r.Uint64()
	}
	return rows
}
