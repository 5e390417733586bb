package bpe

import (
	"regexp"
	"unicode/utf8"
)

// word matches the first word of a text, and white space in its group. Its alternatives are those
// of GPT-2's pattern, but for \s+(?!\S), where \s is the white space of Unicode:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
var word = regexp.MustCompile(`^(?:'s|'t|'re|'ve|'m|'ll|'d| ?\pL+| ?\pN+| ?[^\t-\r\x{85}\pZ\pL\pN]+|([\t-\r\x{85}\pZ]+))`)

// wordLength returns the length in bytes of the first word of a text that is not empty. No token is
// part of two words.
func wordLength(text string) int {
	m := word.FindStringSubmatchIndex(text)
	n := m[1]
	if space := m[2] >= 0; space && n < len(text) {
		// The last character belongs to the word that follows, unless it is the only one.
		if _, last := utf8.DecodeLastRuneInString(text[:n]); last < n {
			return n - last
		}
	}
	return n
}
