// Package bpe cuts texts into tokens by byte-pair encoding, as GPT-2 does.
//
// # References
//
//   - [Sennrich et al. 2016] Neural machine translation of rare words with subword units. ACL.
//   - [Radford et al. 2019] Language models are unsupervised multitask learners. The pattern of
//     words and the characters of bytes.
package bpe

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Tokenizer cuts texts into tokens [Sennrich et al. 2016]. Special tokens are found before all
// else. A Tokenizer caches the tokens of words, so goroutines must not share it.
type Tokenizer struct {
	special  map[string]int
	specials *regexp.Regexp // matches the longest special token; nil without special tokens
	digits   bool           // each digit is a word of its own
	merges   map[[2]int]merge
	bytes    map[int]string // of each token that is not special
	byteID   [256]int       // the token of each byte, or −1
	unknown  int            // the token of unknown bytes, or −1
	fuse     bool           // unknown bytes that follow one another are one token
	known    map[string][]int
	largest  int // token
}

type merge struct{ rank, token int }

func (t *Tokenizer) Size() int { return t.largest + 1 }

// Encode leaves out a byte without a token if the file names no unk_token, as Hugging Face does.
func (t *Tokenizer) Encode(dst []int, text string) []int {
	for text != "" {
		end, next := len(text), len(text)
		if t.specials != nil {
			if at := t.specials.FindStringIndex(text); at != nil {
				end, next = at[0], at[1]
			}
		}
		dst = t.encode(dst, text[:end])
		if end < next {
			dst = append(dst, t.special[text[end:next]])
		}
		text = text[next:]
	}
	return dst
}

func (t *Tokenizer) encode(dst []int, text string) []int {
	for text != "" {
		piece := text
		if t.digits {
			if at := strings.IndexFunc(text, unicode.IsNumber); at > 0 {
				piece = text[:at]
			} else if at == 0 {
				_, n := utf8.DecodeRuneInString(text)
				piece = text[:n]
			}
		}
		text = text[len(piece):]
		for piece != "" {
			n := wordLength(piece)
			word := piece[:n]
			piece = piece[n:]
			tokens, ok := t.known[word]
			if !ok {
				tokens = t.merge(word)
				t.known[strings.Clone(word)] = tokens
			}
			dst = append(dst, tokens...)
		}
	}
	return dst
}

// All pairs of the lowest rank merge, again and again, until no pair has a rank.
func (t *Tokenizer) merge(word string) []int {
	tokens := make([]int, 0, len(word))
	after := false // an unknown byte
	for i := range len(word) {
		id := t.byteID[word[i]]
		unknown := id < 0
		if unknown {
			id = t.unknown
		}
		if id >= 0 && !(t.fuse && unknown && after) {
			tokens = append(tokens, id)
		}
		after = unknown
	}
	for {
		var pair [2]int
		best := merge{rank: len(t.merges)}
		for i := 1; i < len(tokens); i++ {
			p := [2]int{tokens[i-1], tokens[i]}
			if m, ok := t.merges[p]; ok && m.rank < best.rank {
				pair, best = p, m
			}
		}
		if best.rank == len(t.merges) {
			return tokens
		}
		merged := tokens[:0]
		for i := 0; i < len(tokens); i++ {
			if i+1 < len(tokens) && tokens[i] == pair[0] && tokens[i+1] == pair[1] {
				merged = append(merged, best.token)
				i++
				continue
			}
			merged = append(merged, tokens[i])
		}
		tokens = merged
	}
}

// Decode returns the bytes of tokens. Special tokens have no bytes.
func (t *Tokenizer) Decode(tokens []int) string {
	var b strings.Builder
	for _, id := range tokens {
		b.WriteString(t.bytes[id])
	}
	return b.String()
}
