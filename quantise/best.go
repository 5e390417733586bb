package quantise

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
