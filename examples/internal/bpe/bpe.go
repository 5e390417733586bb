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

// Tokenizer cuts texts into tokens [Sennrich et al. 2016]. The first 256 tokens are the bytes, in
// the order of GPT-2. Each merge joins two tokens to one more token. The last token is EndOfText. A
// Tokenizer caches the tokens of words, so goroutines must not share it.
type Tokenizer struct {
	rank  map[[2]int]int // of each merge
	bytes []string       // of each token
	known map[string][]int
}

// Read reads the file merges.txt of GPT-2 or of another model. The file has a line for each merge,
// with the two tokens and a character for each byte. The error names the line that is wrong.
func Read(r io.Reader) (*Tokenizer, error) {
	t := &Tokenizer{rank: make(map[[2]int]int), known: make(map[string][]int)}
	tokens := make(map[string]int)
	for i, b := range byteOrder {
		t.bytes = append(t.bytes, string([]byte{b}))
		tokens[t.bytes[i]] = i
	}
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
		pair := [2]int{i, j}
		if _, twice := t.rank[pair]; twice {
			return nil, fmt.Errorf("bpe: line %d: merge %q occurs twice", n, line)
		}
		t.rank[pair] = len(t.rank)
		if _, twice := tokens[a+b]; !twice {
			tokens[a+b] = len(t.bytes)
		}
		t.bytes = append(t.bytes, a+b)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("bpe: %w", err)
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

// merge returns the tokens of a word. It merges all pairs of the lowest rank, again and again,
// until no pair has a rank.
func (t *Tokenizer) merge(word string) []int {
	tokens := make([]int, len(word))
	for i := range len(word) {
		tokens[i] = byteToken[word[i]]
	}
	for {
		best, found := [2]int{}, len(t.rank)
		for i := 1; i < len(tokens); i++ {
			pair := [2]int{tokens[i-1], tokens[i]}
			if r, ok := t.rank[pair]; ok && r < found {
				best, found = pair, r
			}
		}
		if found == len(t.rank) {
			return tokens
		}
		merged := tokens[:0]
		for i := 0; i < len(tokens); i++ {
			if i+1 < len(tokens) && tokens[i] == best[0] && tokens[i+1] == best[1] {
				merged = append(merged, 256+found)
				i++
				continue
			}
			merged = append(merged, tokens[i])
		}
		tokens = merged
	}
}

// Decode returns the bytes of tokens; EndOfText has no bytes. Decode panics for an unknown token.
func (t *Tokenizer) Decode(tokens []int) string {
	var b strings.Builder
	for _, id := range tokens {
		if id != t.EndOfText() {
			b.WriteString(t.bytes[id])
		}
	}
	return b.String()
}
