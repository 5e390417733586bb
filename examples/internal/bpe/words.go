package bpe

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// wordLength returns the length in bytes of the first word of a text that is not empty. Words are
// the matches of GPT-2's pattern, and no token is part of two:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
func wordLength(text string) int {
	for _, suffix := range [...]string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"} {
		if strings.HasPrefix(text, suffix) {
			return len(suffix)
		}
	}
	start := 0
	if text[0] == ' ' {
		start = 1
	}
	if first, _ := utf8.DecodeRuneInString(text[start:]); start < len(text) && !unicode.IsSpace(first) {
		return start + run(text[start:], kindOf(first))
	}
	n := run(text, space)
	if n == len(text) {
		return n
	}
	// The last character of white space belongs to the word that follows, if there is another.
	if _, last := utf8.DecodeLastRuneInString(text[:n]); last < n {
		return n - last
	}
	return n
}

// kind is a kind of characters.
type kind int

const (
	space kind = iota
	letter
	number
	other
)

func kindOf(r rune) kind {
	switch {
	case unicode.IsSpace(r):
		return space
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return number
	}
	return other
}

// run returns the length in bytes of the characters of one kind at the beginning of a text.
func run(text string, k kind) int {
	for i, r := range text {
		if kindOf(r) != k {
			return i
		}
	}
	return len(text)
}
