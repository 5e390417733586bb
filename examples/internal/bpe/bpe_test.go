package bpe

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// words cuts a text into words.
func words(text string) (all []string) {
	for text != "" {
		n := wordLength(text)
		all = append(all, text[:n])
		text = text[n:]
	}
	return all
}

// TestWords has words by GPT-2's pattern, from its definition by hand.
func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"Hello world":               {"Hello", " world"},
		"it's we'll x'y":            {"it", "'s", " we", "'ll", " x", "'", "y"},
		"a  b":                      {"a", " ", " b"},
		"a\n\tb":                    {"a", "\n", "\t", "b"},
		"a \n":                      {"a", " \n"},
		"x := 42;// é5":             {"x", " :=", " 42", ";//", " é", "5"},
		"if x != nil {\n\t\treturn": {"if", " x", " !=", " nil", " {", "\n\t", "\t", "return"},
		" ":                         {" "},
		"\xff\xfea":                 {"\xff\xfe", "a"},
		"\u00a0\u00a0b":             {"\u00a0", "\u00a0", "b"},
	} {
		assert.Equal(t, want, words(text), "%q", text)
	}
}

func TestEncode(t *testing.T) {
	tok, err := Read(strings.NewReader("#version: 0.2\na b\nab c\n"))
	require.NoError(t, err)
	assert.Equal(t, 259, tok.Size())
	assert.Equal(t, []string{"ab", "abc"}, []string{tok.Decode([]int{256}), tok.Decode([]int{257})})
	assert.Equal(t, []int{7, 257, 256}, tok.Encode([]int{7}, "abcab"))
}

func TestBytes(t *testing.T) {
	assert.Equal(t, 0, byteToken['!'], "the first of GPT-2's tokens")
	assert.Equal(t, 220, byteToken[' '])
	assert.Equal(t, 198, byteToken['\n'])
	text, ok := raw("Ġa\u0100")
	assert.True(t, ok)
	assert.Equal(t, " a\x00", text)
}

func TestRead(t *testing.T) {
	tok, err := Read(strings.NewReader(merges))
	require.NoError(t, err)
	assert.Equal(t, tok.Size()-1, tok.EndOfText())
	assert.Empty(t, tok.Decode([]int{tok.EndOfText()}))

	for text, want := range map[string]string{
		"a":        `line 1 is "a"`,
		"a b\na ":  `line 2 is "a "`,
		"a \u4e00": "want two tokens",
		"ab c":     `merges "ab c"`,
		"a b\na b": "occurs twice",
	} {
		_, err := Read(strings.NewReader(text))
		assert.ErrorContains(t, err, want)
	}
	_, err = Read(broken{})
	assert.ErrorIs(t, err, errBroken)
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errBroken }

// merges are merges of Go text.
const merges = "#version: 0.2\ni n\nin t\nr e\nre t\nĠ x\nĊ ĉ\nĠ =\nu r\nret ur\nretur n\nf u\nn c\n"

// FuzzEncode: the tokens of any text are the text.
func FuzzEncode(f *testing.F) {
	tok, err := Read(strings.NewReader(merges))
	require.NoError(f, err)
	for _, text := range []string{"", "func return 1", "a\xff\n\n  \t é", "'s 't"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		assert.Equal(t, text, tok.Decode(tok.Encode(nil, text)))
		assert.Equal(t, text, strings.Join(words(text), ""))
	})
}
