package quantise

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// better compares candidates, the best first.
func better(a, b candidate) int {
	if b.worse(a) {
		return -1
	}
	return 1
}

// Candidates in every order, with equal scores and without, give the best k and a worst of k that no
// candidate among the best k ranks below.
func TestKeep(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, 3, 10, 100, 2000} {
		for _, k := range []int{1, 2, 3, 7, 100, 1000} {
			for _, distinct := range []int{1, 3, 1 << 30} {
				for _, order := range []string{"random", "ascending", "descending"} {
					all := make([]candidate, n)
					for i := range all {
						all[i] = candidate{score: float64(r.IntN(distinct)), row: i}
					}
					want := slices.SortedFunc(slices.Values(all), better)
					want = want[:min(k, n)]
					switch order {
					case "random":
						r.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
					case "ascending":
						slices.SortFunc(all, func(a, b candidate) int { return better(b, a) })
					case "descending":
						slices.SortFunc(all, better)
					}
					var list []candidate
					for i, c := range all {
						list = keep(list, c, k)
						require.Less(t, len(list), 2*k+1)
						if i+1 >= k {
							require.False(t, want[min(k, n)-1].worse(list[k-1]), "the worst of k candidates so far ranks above the last of the best")
						}
					}
					list = cut(list, k)
					if len(list) == k {
						require.Equal(t, want[k-1], list[k-1])
					}
					slices.SortFunc(list, better)
					require.Equal(t, want, list, "n = %d, k = %d, %s", n, k, order)
				}
			}
		}
	}
}

func TestOrdered(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var keys, order []uint64
	for _, n := range []int{0, 1, 255, 256, 257, 3000} {
		list := make([]candidate, n)
		for i := range list {
			list[i] = candidate{score: r.NormFloat64(), row: i}
		}
		order, keys = ordered(keys, list)
		var got []int
		for _, v := range order {
			got = append(got, int(uint32(v)))
		}
		want := make([]int, n)
		for i := range want {
			want[i] = i
		}
		require.ElementsMatch(t, want, got)
		for i := 1; n >= 256 && i < n; i++ {
			require.GreaterOrEqual(t, float32(list[got[i-1]].score), float32(list[got[i]].score))
		}
	}
}
