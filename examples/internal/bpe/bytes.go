package bpe

import "strings"

// byteOrder holds the bytes in the order of GPT-2's tokens: those that are visible characters of
// Latin-1, and then the others. In a file of merges a visible byte stands for itself, and the
// others are the characters from 256.
var byteOrder, byteToken, byteRune, runeByte = bytesOfGPT2()

func bytesOfGPT2() (order [256]byte, token [256]int, char [256]rune, back map[rune]byte) {
	back = make(map[rune]byte)
	n := 0
	take := func(b int, r rune) {
		order[n], token[b], char[b], back[r] = byte(b), n, r, byte(b)
		n++
	}
	isVisible := func(b int) bool { return '!' <= b && b <= '~' || 0xa1 <= b && b <= 0xac || 0xae <= b }
	for b := range 256 {
		if isVisible(b) {
			take(b, rune(b))
		}
	}
	next := rune(256)
	for b := range 256 {
		if !isVisible(b) {
			take(b, next)
			next++
		}
	}
	return order, token, char, back
}

// visible returns bytes as they stand in a file of merges.
func visible(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		s.WriteRune(byteRune[c])
	}
	return s.String()
}

// raw returns the bytes of a token in a file of merges, and whether all its characters stand for
// bytes and there is one.
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
