package bpe

import (
	"bytes"
	"encoding/json"
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

// merged returns tokenizer.json with the characters of bytes and the given merges, with a special
// token at 3 and an added token that is not special.
func merged(merges ...string) []byte {
	vocab := map[string]int{}
	for r := range runeByte {
		if r != '~' { // a byte without a token
			vocab[string(r)] = 1000 + int(r)
		}
	}
	for i, m := range merges {
		vocab[strings.ReplaceAll(m, " ", "")] = 2000 + i
	}
	data, err := json.Marshal(map[string]any{
		"added_tokens": []map[string]any{
			{"id": 3, "content": "<end>", "special": true}, {"id": 4, "content": "<end>|", "special": true}, {"id": 5, "content": "tool"},
		},
		"pre_tokenizer": map[string]any{"type": "ByteLevel", "use_regex": true},
		"model":         map[string]any{"type": "BPE", "vocab": vocab, "merges": merges},
	})
	if err != nil {
		panic(err)
	}
	return data
}

func TestEncode(t *testing.T) {
	data := merged("a b", "ab c", "1 2")
	tok, err := Parse(data)
	require.NoError(t, err)
	assert.Equal(t, 2003, tok.Size())
	assert.Equal(t, []int{7, 2001, 2000, 2002, 3, 2000, 4, 5, 1000 + 'c'}, tok.Encode([]int{7}, "abcab12<end>ab<end>|tool~c"))
	assert.Equal(t, "abcabtool", tok.Decode([]int{2001, 2000, 3, 5, 1999}), "special and unknown tokens have no bytes")
	lists := bytes.Replace(data, []byte(`"a b"`), []byte(`["a","b"]`), 1)
	split := bytes.Replace(lists, []byte(`"pre_tokenizer":`), []byte(`"pre_tokenizer": {"type": "Sequence", "pretokenizers": [
		{"type": "Digits", "individual_digits": true}, {"type": "ByteLevel"}]}, "other":`), 1)
	digits, err := Parse(split)
	require.NoError(t, err)
	assert.Equal(t, []int{2000, 1000 + 'Ġ', 1000 + 'Ġ', 1000 + '1', 1000 + '2', 1000 + 'x'}, digits.Encode(nil, "ab  12x"))
}

// The tokens of unknown bytes are those of Hugging Face's tokenizers 0.23.
func TestUnknownBytes(t *testing.T) {
	for field, want := range map[string][]int{
		``:                                 {2000, 1063, 1063, 2000},
		`,"unk_token":"?"`:                 {2000, 1063, 1063, 1063, 1063, 2000},
		`,"unk_token":"?","fuse_unk":true`: {2000, 1063, 1063, 1063, 2000},
	} {
		tok, err := Parse(bytes.Replace(merged("a b"), []byte(`"BPE"`), []byte(`"BPE"`+field), 1))
		require.NoError(t, err)
		assert.Equal(t, want, tok.Encode(nil, "ab??~~ab"), field)
	}
}

func TestBytes(t *testing.T) {
	text, ok := raw("Ġa\u0100")
	assert.True(t, ok)
	assert.Equal(t, " a\x00", text)
	assert.Len(t, runeByte, 256)
}

func TestParseErrors(t *testing.T) {
	good := string(merged("a b", "ab c"))
	_, err := Parse([]byte(good))
	require.NoError(t, err)
	for _, c := range []struct{ old, new, want string }{
		{`{"added`, `["added`, "tokenizer.json: "},
		{`"BPE"`, `"Unigram"`, `the model is "Unigram", want BPE`},
		{`"type":"BPE"`, `"type":"BPE","byte_fallback":true`, "byte_fallback is true"},
		{`"type":"BPE"`, `"type":"BPE","unk_token":"none"`, `unk_token is "none", want a token of vocab`},
		{`"type":"BPE"`, `"type":"BPE","ignore_merges":true`, "ignore_merges true"},
		{`"type":"BPE"`, `"type":"BPE","end_of_word_suffix":"w"`, `the suffix "w"`},
		{`"pre_tokenizer"`, `"normalizer":{"type":"NFC"},"pre_tokenizer"`, "normalizer is map[type:NFC]"},
		{`"use_regex":true`, `"use_regex":false`, "pre_tokenizer is"},
		{`"use_regex":true`, `"add_prefix_space":true`, "pre_tokenizer is"},
		{`"ByteLevel"`, `"Metaspace"`, "pre_tokenizer is"},
		{`"content":"tool"`, `"content":"tool","lstrip":true`, `token "tool" of added_tokens`},
		{`"content":"tool"`, `"content":""`, `token "" of added_tokens`},
		{`"id":5`, `"id":-5`, `token "tool" has the number -5`},
		{`"id":5`, `"id":3`, `token "tool" has the number 3, which is negative or that of "<end>"`},
		{`"ab":2000`, `"a b":2000`, `token "a b" has a character that stands for no byte`},
		{`"ab":2000`, `"b":2000`, `merge 0 of "a" and "b": vocab lacks`},
		{`"a b"`, `"ab"`, `merge "ab", want two tokens`},
		{`"a b"`, `["a","b","c"]`, "merge of 3 tokens"},
		{`"a b"`, `7`, "tokenizer.json: "},
		{`"a b"`, `"a b","a b"`, "occurs twice"},
	} {
		bad := strings.Replace(good, c.old, c.new, 1)
		require.NotEqual(t, good, bad, c.old)
		_, err := Parse([]byte(bad))
		assert.ErrorContains(t, err, c.want, c.new)
	}
}

// FuzzEncode: the tokens of any text are the text, but for bytes without a token.
func FuzzEncode(f *testing.F) {
	tok, err := Parse(merged("i n", "in t", "r e", "re t", "Ġ x", "Ċ ĉ", "f u", "n c"))
	require.NoError(f, err)
	for _, text := range []string{"", "func return 1", "a\xff\n\n  \t é", "'s 't~", "<end>|<end"} {
		f.Add(text)
	}
	special := strings.NewReplacer("<end>|", "", "<end>", "", "~", "")
	f.Fuzz(func(t *testing.T, text string) {
		assert.Equal(t, special.Replace(text), tok.Decode(tok.Encode(nil, text)))
		assert.Equal(t, text, strings.Join(words(text), ""))
	})
}
