// Package text reads a text and divides it into words.
package text

import (
	"regexp"
	"strings"
)

var word = regexp.MustCompile(`\pL+(?:['-]\pL+)*`)

// Words returns the words of s in lower case and in order. A word is a run of letters, with
// apostrophes and hyphens between two letters (colour'd, yellow-making), but not elsewhere ('tis
// gives tis). All other characters separate words. The typographic apostrophe ’ counts as '.
func Words(s string) []string {
	return word.FindAllString(strings.ToLower(strings.ReplaceAll(s, "’", "'")), -1)
}
