package bpe

import (
	"cmp"
	"slices"
)

// Train returns the tokenizer of at most size tokens that merges the pair of tokens that is most
// frequent in the texts, one after another [Sennrich et al. 2016]. Of pairs as frequent, the one
// with the lower numbers comes first. Words beyond the most frequent 100,000 do not count. The cost
// is O(size·bytes of different words).
func Train(texts []string, size int) (*Tokenizer, error) {
	type word struct {
		text   string
		count  int
		tokens []int
	}
	counts := make(map[string]int)
	for _, text := range texts {
		for text != "" {
			n := wordLength(text)
			counts[text[:n]]++
			text = text[n:]
		}
	}
	var words []word
	for text, n := range counts {
		words = append(words, word{text: text, count: n})
	}
	slices.SortFunc(words, func(a, b word) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(a.text, b.text))
	})
	const most = 100_000
	words = words[:min(len(words), most)]
	for i := range words {
		for _, b := range []byte(words[i].text) {
			words[i].tokens = append(words[i].tokens, byteToken[b])
		}
	}
	pairs := make(map[[2]int]int)
	count := func(tokens []int, n int) {
		for i := 1; i < len(tokens); i++ {
			pairs[[2]int{tokens[i-1], tokens[i]}] += n
		}
	}
	for _, w := range words {
		count(w.tokens, w.count)
	}
	var merges [][2]int
	for 256+len(merges)+1 < size {
		best, most := [2]int{}, 1
		for p, n := range pairs {
			if n > most || n == most && slices.Compare(p[:], best[:]) < 0 {
				best, most = p, n
			}
		}
		if most == 1 {
			break // no pair occurs twice
		}
		for i, w := range words {
			if contains(w.tokens, best) {
				count(w.tokens, -w.count)
				words[i].tokens = replace(w.tokens, best, 256+len(merges))
				count(words[i].tokens, w.count)
			}
		}
		merges = append(merges, best)
	}
	return fromMerges(merges)
}

// contains reports whether tokens contain a pair.
func contains(tokens []int, pair [2]int) bool {
	for i := 1; i < len(tokens); i++ {
		if tokens[i-1] == pair[0] && tokens[i] == pair[1] {
			return true
		}
	}
	return false
}
