// Package text finds a text and cuts it into words.
package text

import (
	"regexp"
	"strings"
)

var word = regexp.MustCompile(`\pL+(?:['-]\pL+)*`)

// Words returns the words of s in lower case and in order. A word is a run of letters; an
// apostrophe or a hyphen between two letters belongs to it (colour'd, yellow-making), elsewhere it
// does not ('tis gives tis). Digits, punctuation, the underscores that mark italics and line breaks
// separate words and are dropped. The typographic apostrophe ’ counts as '.
func Words(s string) []string {
	return word.FindAllString(strings.ToLower(strings.ReplaceAll(s, "’", "'")), -1)
}
