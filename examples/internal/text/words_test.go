package text

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWords(t *testing.T) {
	for in, want := range map[string]string{
		"":                                "",
		"'Tis _Light_, colour'd; 3 RAYS.": "tis light colour'd rays",
		"the yellow-making Rays--which":   "the yellow-making rays which",
		"Rays' end-\nof line":             "rays end of line",
		"Phænomenon’s Æther":              "phænomenon's æther",
		"a-'b":                            "a b",
		"-- ' 1730 \xff":                  "",
	} {
		assert.Equal(t, want, strings.Join(Words(in), " "), "%q", in)
	}
}

func FuzzWords(f *testing.F) {
	f.Add("'Tis _Light_, colour'd; yellow-making RAYS.")
	f.Add("a--b ’tis\xff\u0130")
	f.Fuzz(func(t *testing.T, s string) {
		words := Words(s)
		assert.Equal(t, words, Words(strings.Join(words, " ")), "words of the words are the words")
		for _, w := range words {
			assert.NotEmpty(t, strings.Trim(w, "'-"))
		}
	})
}
