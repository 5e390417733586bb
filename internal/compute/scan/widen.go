package scan

import "math/bits"

// A row with codes of 5 or 6 bits holds the codes of a row of Widen, which have 8 bits, in chunks of
// 8 words, and then of 4 words if no more than 4 are left. For a chunk of c words the row has c/2
// words with the lower four bits of the codes, and then words with the upper bits.
const halfChunk = 4

const lowerBits = 0x0f0f0f0f0f0f0f0f

// narrowWords returns the number of words of a row with codes of 5 or 6 bits.
func narrowWords(words, width int) int {
	halves := (words + halfChunk - 1) / halfChunk
	return halves/2*width + halves%2*3
}

// eachWord calls f for each word of a row of Widen, with the words of the narrow row that have the
// lower and the upper bits of its codes, with the place of the lower bits, and with the distance of
// the upper bits from their places in codes.
func eachWord(words, width int, f func(word, lower, shift, upper, left int)) {
	for at, from := 0, 0; at < words; {
		c := halfChunk
		if words-at > c {
			c *= 2
		}
		size := max(1, c*(width-4)/8)
		for i := range min(c, words-at) {
			f(at+i, from+i%(c/2), 4*(i/(c/2)), from+c/2+i%size, 4-(width-4)*(i/size))
		}
		at, from = at+c, from+c/2+size
	}
}

// upperBits returns the upper bits of codes of 5 or 6 bits.
func upperBits(width int) uint64 { return lowerBits << 4 & (1<<width - 1) * 0x0101010101010101 }

// Narrow writes a row of Widen as a row with codes of 5 or 6 bits.
func Narrow(row, wide []uint64, width int) {
	clear(row)
	eachWord(len(wide), width, func(word, lower, shift, upper, left int) {
		row[lower] |= wide[word] & lowerBits << shift
		row[upper] |= bits.RotateLeft64(wide[word]&upperBits(width), -left)
	})
}

// WideWords returns the number of words that Widen writes for n rows of so many words.
func WideWords(n, words int) int { return n*words + halfChunk - 1 }

// Widen turns n rows with codes of 5 or 6 bits into rows of so many words with codes of 8 bits. The
// words of dst behind these rows have no meaning.
func Widen(dst, rows []uint64, n, words, width int) {
	dst, rows = dst[:WideWords(n, words)], rows[:n*narrowWords(words, width)]
	if n > 0 && words > 0 {
		widen(dst, rows, n, words, width)
	}
}

func widenReference(dst, rows []uint64, n, words, width int) {
	size, mask := narrowWords(words, width), upperBits(width)
	for i := range n {
		wide, row := dst[i*words:][:words], rows[i*size:][:size]
		eachWord(words, width, func(word, lower, shift, upper, left int) {
			wide[word] = row[lower]>>shift&lowerBits | bits.RotateLeft64(row[upper], left)&mask
		})
	}
}
