package bpe

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// A visible character of Latin-1 stands for itself, and characters from 256 for other bytes.
var runeByte = bytesOfGPT2()

func bytesOfGPT2() map[rune]byte {
	all := make(map[rune]byte)
	next := rune(256)
	for b := range rune(256) {
		if '!' <= b && b <= '~' || 0xa1 <= b && b <= 0xac || 0xae <= b {
			all[b] = byte(b)
		} else {
			all[next] = byte(b)
			next++
		}
	}
	return all
}

// raw returns false if the token is empty or has a character that stands for no byte.
func raw(s string) (string, bool) {
	var b strings.Builder
	for _, r := range s {
		c, ok := runeByte[r]
		if !ok {
			return "", false
		}
		b.WriteByte(c)
	}
	return b.String(), s != ""
}

// word matches the first word of a text. Its alternatives are those of GPT-2's pattern without
// \s+(?!\S), which wordLength replaces. \s is the white space of Unicode:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
var word = regexp.MustCompile(`^(?:'s|'t|'re|'ve|'m|'ll|'d| ?\pL+| ?\pN+| ?[^\t-\r\x{85}\pZ\pL\pN]+|([\t-\r\x{85}\pZ]+))`)

// Tokens do not cross words.
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
