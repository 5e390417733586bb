package scan

import "github.com/seed-feabd252/randfeat/internal/compute/cache"

// A code c of 3 bits stands for 2c − 7, as the code c + 4 of 4 bits does. Groups of GroupRows rows
// of codes of 3 bits take three quarters of the words of rows of 4 bits. A group has its first 48
// rows in order, with 4 bits for each code. A code c of row 48 + i is in the highest bits of three
// codes at the place of c: the lowest bit in row i, the next in row i + 16, the last in row i + 32.
const (
	threeParts = 3
	threeRows  = GroupRows * threeParts / 4 // rows of words of a group
	partRows   = GroupRows / 4
	lowBits    = 0x1111111111111111
	threeBits  = 7 * lowBits
	four       = 4 * lowBits
)

// ThreeWords returns the number of words of a group of rows of 3 bits that take so many words in 4
// bits.
func ThreeWords(words int) int { return threeRows * words }

// PutThree writes row i of a group. The row has the codes 4 to 11 of 4 bits.
func PutThree(group, row []uint64, i int) {
	words, at := len(row), i%threeRows*len(row)
	for w, x := range row {
		x = x&(3*lowBits) | x>>1&four
		if i < threeRows {
			group[at+w] = group[at+w]&^threeBits | x
			continue
		}
		for part := range threeParts {
			to := &group[at+part*partRows*words+w]
			*to = *to&threeBits | x>>part&lowBits<<3
		}
	}
}

// TakeThree reads row i of a group as codes of 4 bits.
func TakeThree(row, group []uint64, i int) {
	words, at := len(row), i%threeRows*len(row)
	for w := range row {
		if i < threeRows {
			row[w] = group[at+w]&threeBits + four
		} else {
			row[w] = fourth(group[at+w], group[at+partRows*words+w], group[at+2*partRows*words+w])
		}
	}
}

// FetchThree prefetches row i of a group with rows of so many words.
func FetchThree(group []uint64, words, i int) {
	cache.Fetch(group[i%threeRows*words:][:words])
	for part := 1; part < threeParts && i >= threeRows; part++ {
		cache.Fetch(group[(i%threeRows+part*partRows)*words:][:words])
	}
}

func fourth(a, b, c uint64) uint64 {
	return (a>>3&lowBits | b>>2&(2*lowBits) | c>>1&four) + four
}

// WidenThree writes the rows of whole groups as rows of so many words of codes of 4 bits.
func WidenThree(dst, rows []uint64, groups, words int) {
	if groups > 0 {
		widen(dst[:groups*GroupRows*words], rows[:groups*threeRows*words], groups, partRows*words*8)
	}
}

// widenReference widens groups of parts of so many bytes, with the rows of a part side by side.
func widenReference(dst, rows []uint64, groups, part int) {
	words := part / 8
	for g := range groups {
		to, from := dst[g*4*words:], rows[g*threeParts*words:]
		for w := range words {
			a, b, c := from[w], from[words+w], from[2*words+w]
			to[w], to[words+w], to[2*words+w], to[3*words+w] = a&threeBits+four, b&threeBits+four, c&threeBits+four, fourth(a, b, c)
		}
	}
}
