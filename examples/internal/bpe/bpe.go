// Package bpe cuts texts into tokens by byte-pair encoding, as GPT-2 does.
//
// # References
//
//   - [Sennrich et al. 2016] R. Sennrich, B. Haddow, A. Birch: Neural machine translation of rare
//     words with subword units. ACL 2016.
//   - [Radford et al. 2019] A. Radford, J. Wu, R. Child, D. Luan, D. Amodei, I. Sutskever: Language
//     models are unsupervised multitask learners. 2019. The pattern of words and the file of
//     merges.
package bpe

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Tokenizer cuts texts into tokens. The first 256 tokens are the bytes, in the order of GPT-2. Each
// merge of two tokens is one more, and the last is EndOfText. A Tokenizer keeps the tokens of words
// that it has met, so goroutines may not share it.
type Tokenizer struct {
	merges [][2]int
	rank   map[[2]int]int // of a merge
	bytes  [][]byte       // of a token
	known  map[string][]int
}

// fromMerges returns the tokenizer with the given merges in order, each of tokens before it. It is
// an error if a merge occurs twice.
func fromMerges(merges [][2]int) (*Tokenizer, error) {
	t := &Tokenizer{merges: merges, rank: make(map[[2]int]int), known: make(map[string][]int)}
	for _, b := range byteOrder {
		t.bytes = append(t.bytes, []byte{b})
	}
	for i, m := range merges {
		if _, twice := t.rank[m]; twice {
			return nil, fmt.Errorf("bpe: merge %d of tokens %d and %d occurs twice", i, m[0], m[1])
		}
		t.rank[m] = i
		t.bytes = append(t.bytes, append(append([]byte(nil), t.bytes[m[0]]...), t.bytes[m[1]]...))
	}
	return t, nil
}

// Size returns the number of tokens, EndOfText included.
func (t *Tokenizer) Size() int { return len(t.bytes) + 1 }

// EndOfText returns the token between texts. No text contains it.
func (t *Tokenizer) EndOfText() int { return len(t.bytes) }

// Encode appends the tokens of a text to dst and returns the result.
func (t *Tokenizer) Encode(dst []int, text string) []int {
	for text != "" {
		n := wordLength(text)
		word := text[:n]
		text = text[n:]
		tokens, ok := t.known[word]
		if !ok {
			tokens = t.merge(word)
			t.known[strings.Clone(word)] = tokens
		}
		dst = append(dst, tokens...)
	}
	return dst
}

// merge returns the tokens of a word: it merges the pair of the lowest rank, until there is none.
func (t *Tokenizer) merge(word string) []int {
	tokens := make([]int, len(word))
	for i := range len(word) {
		tokens[i] = byteToken[word[i]]
	}
	for {
		best, found := [2]int{}, len(t.merges)
		for i := 1; i < len(tokens); i++ {
			pair := [2]int{tokens[i-1], tokens[i]}
			if r, ok := t.rank[pair]; ok && r < found {
				best, found = pair, r
			}
		}
		if found == len(t.merges) {
			return tokens
		}
		tokens = replace(tokens, best, 256+found)
	}
}

// replace replaces each pair in tokens, from the left, in place.
func replace(tokens []int, pair [2]int, by int) []int {
	to := tokens[:0]
	for i := 0; i < len(tokens); i++ {
		if i+1 < len(tokens) && tokens[i] == pair[0] && tokens[i+1] == pair[1] {
			to = append(to, by)
			i++
			continue
		}
		to = append(to, tokens[i])
	}
	return to
}

// Decode returns the bytes of tokens; EndOfText has none. It panics if there is no such token.
func (t *Tokenizer) Decode(tokens []int) string {
	var b strings.Builder
	for _, id := range tokens {
		if id != t.EndOfText() {
			b.Write(t.bytes[id])
		}
	}
	return b.String()
}

// Write writes the merges as the file merges.txt of GPT-2: a line for each, of the two tokens, with
// a character for each byte.
func (t *Tokenizer) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "#version: 0.2")
	for _, m := range t.merges {
		fmt.Fprintln(b, visible(t.bytes[m[0]]), visible(t.bytes[m[1]]))
	}
	return b.Flush()
}

// Read reads the file merges.txt of GPT-2, or one that Write has written. The numbers of tokens are
// those of GPT-2 then. The error names the line that is wrong.
func Read(r io.Reader) (*Tokenizer, error) {
	tokens := make(map[string]int)
	for i, b := range byteOrder {
		tokens[string([]byte{b})] = i
	}
	var merges [][2]int
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := lines.Text()
		if n == 1 && strings.HasPrefix(line, "#version") || line == "" {
			continue
		}
		left, right, ok := strings.Cut(line, " ")
		a, okA := raw(left)
		b, okB := raw(right)
		if !ok || !okA || !okB {
			return nil, fmt.Errorf("bpe: line %d is %q, want two tokens", n, line)
		}
		i, okI := tokens[a]
		j, okJ := tokens[b]
		if !okI || !okJ {
			return nil, fmt.Errorf("bpe: line %d merges %q, which no line before has made", n, line)
		}
		if _, twice := tokens[a+b]; !twice {
			tokens[a+b] = 256 + len(merges)
		}
		merges = append(merges, [2]int{i, j})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("bpe: %w", err)
	}
	return fromMerges(merges)
}
