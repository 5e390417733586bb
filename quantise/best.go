package quantise

import (
	"math"

	"github.com/seed-feabd252/randfeat/internal/memory/scratch"
)

type scoredRow struct {
	score   float64
	row     int
	product float32 // sᵀp/‖q‖, if the score is an estimate
}

func (a scoredRow) worse(b scoredRow) bool {
	return a.score < b.score || a.score == b.score && a.row > b.row
}

// keep adds c to a list of the best k candidates and up to k others, unless k candidates rank above
// c, and returns the list. If the list has k candidates or more, the candidate k−1 is the worst of
// k: candidates that rank below it are not among the best k.
func keep(list []scoredRow, c scoredRow, k int) []scoredRow {
	n := len(list)
	if n >= k && c.worse(list[k-1]) {
		return list
	}
	list = append(list, c)
	if n+1 == k || n >= 2*k {
		return cut(list, k)
	}
	return list
}

// cut returns the best k candidates of a list, the worst of them last, or the list if it is
// shorter.
func cut(list []scoredRow, k int) []scoredRow {
	if len(list) < k {
		return list
	}
	for lo, hi := 0, len(list)-1; lo < hi; {
		a, b, c := list[lo], list[(lo+hi)/2], list[hi]
		if b.worse(a) {
			a, b = b, a
		}
		if c.worse(b) {
			b = c
			if b.worse(a) {
				b = a
			}
		}
		// Candidates up to j rank above the median b or are b, and so do those from i on below b.
		i, j := lo, hi
		for i <= j {
			for b.worse(list[i]) {
				i++
			}
			for list[j].worse(b) {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j+1:
			hi = j
		case k > i:
			lo = i
		default:
			return list[:k]
		}
	}
	return list[:k]
}

// ordered returns the indices of a list, in the lower 32 bits of keys. A list of many candidates is
// sorted by scores rounded to float32, the best first. The result and other memory are in keys.
func ordered(keys []uint64, list []scoredRow) (order, all []uint64) {
	n := len(list)
	keys = scratch.Resize(keys, 2*n)
	order, other := keys[:n], keys[n:]
	for i, c := range list {
		b := math.Float32bits(float32(-c.score)) // of another sign in the order of integers
		order[i] = uint64(b^(uint32(int32(b)>>31)|1<<31))<<32 | uint64(i)
	}
	for shift := 32; n >= 1<<8 && shift < 64; shift += 8 {
		var ends [1<<8 + 1]int
		for _, v := range order {
			ends[v>>shift&0xff+1]++
		}
		for i := range ends[1:] {
			ends[i+1] += ends[i]
		}
		for _, v := range order {
			end := &ends[v>>shift&0xff]
			other[*end] = v
			*end++
		}
		order, other = other, order
	}
	return order, keys
}
