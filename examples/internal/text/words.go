// Package text finds a text and cuts it into words.
package text

import (
	"strings"
	"unicode"
)

// Words returns the words of s in lower case and in order. A word is a run of letters; an
// apostrophe or a hyphen between two letters belongs to it (colour'd, yellow-making), elsewhere it
// does not ('tis gives tis). Digits, punctuation, the underscores that mark italics and line breaks
// separate words and are dropped. The typographic apostrophe ’ counts as '.
func Words(s string) []string {
	var (
		words []string
		word  strings.Builder
		joint rune // an apostrophe or hyphen after a letter, not yet part of the word
	)
	flush := func() {
		if word.Len() > 0 {
			words = append(words, word.String())
			word.Reset()
		}
		joint = 0
	}
	for _, r := range s {
		if r == '’' {
			r = '\''
		}
		switch {
		case unicode.IsLetter(r):
			if joint != 0 {
				word.WriteRune(joint)
				joint = 0
			}
			word.WriteRune(unicode.ToLower(r))
		case (r == '\'' || r == '-') && word.Len() > 0 && joint == 0:
			joint = r
		default:
			flush()
		}
	}
	flush()
	return words
}
