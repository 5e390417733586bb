package bpe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// tokenizerFile is tokenizer.json of Hugging Face, as far as it decides the tokens of a text.
type tokenizerFile struct {
	Added []struct {
		ID                      int
		Content                 string
		SingleWord              bool `json:"single_word"`
		LStrip, RStrip, Special bool
	} `json:"added_tokens"`
	Normalizer   any
	PreTokenizer step `json:"pre_tokenizer"`
	Model        struct {
		Type         string
		Vocab        map[string]int
		Merges       []pair
		Prefix       string `json:"continuing_subword_prefix"`
		Suffix       string `json:"end_of_word_suffix"`
		ByteFallback bool   `json:"byte_fallback"`
		IgnoreMerges bool   `json:"ignore_merges"`
		Unknown      string `json:"unk_token"`
		Fuse         bool   `json:"fuse_unk"`
	}
}

type step struct {
	Type           string
	Pretokenizers  []step
	Individual     bool  `json:"individual_digits"`
	AddPrefixSpace bool  `json:"add_prefix_space"`
	UseRegex       *bool `json:"use_regex"`
}

// pair is two tokens, as a list or with a space between.
type pair [2]string

func (p *pair) UnmarshalJSON(data []byte) error {
	if data[0] != '"' {
		var list []string
		if err := json.Unmarshal(data, &list); err != nil {
			return err
		}
		if len(list) != 2 {
			return fmt.Errorf("merge of %d tokens, want 2", len(list))
		}
		*p = pair(list)
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	var ok bool
	if p[0], p[1], ok = strings.Cut(text, " "); !ok {
		return fmt.Errorf("merge %q, want two tokens", text)
	}
	return nil
}

// Parse reads tokenizer.json of Hugging Face. Texts must be divided as by GPT-2, with or without a
// word for each digit, as by SmolLM2. Parse ignores tokens that a post-processor adds to a text.
func Parse(data []byte) (*Tokenizer, error) {
	var f tokenizerFile
	err := json.Unmarshal(data, &f)
	t := &Tokenizer{special: make(map[string]int), merges: make(map[[2]int]merge), bytes: make(map[int]string), known: make(map[string][]int)}
	if err == nil {
		err = f.check()
	}
	if err == nil {
		t.digits, err = f.PreTokenizer.digits()
	}
	if err == nil {
		err = f.tokens(t)
	}
	if err != nil {
		return nil, fmt.Errorf("bpe: tokenizer.json: %w", err)
	}
	return t, nil
}

func (f *tokenizerFile) check() error {
	m := f.Model
	switch {
	case m.Type != "BPE":
		return fmt.Errorf("the model is %q, want BPE", m.Type)
	case f.Normalizer != nil:
		return fmt.Errorf("the normalizer is %v, want none", f.Normalizer)
	case m.Prefix != "" || m.Suffix != "":
		return fmt.Errorf("words have the prefix %q and the suffix %q, want none", m.Prefix, m.Suffix)
	case m.ByteFallback || m.IgnoreMerges:
		return fmt.Errorf("byte_fallback is %v and ignore_merges %v, want false", m.ByteFallback, m.IgnoreMerges)
	}
	return nil
}

func (s step) digits() (bool, error) {
	steps := []step{s}
	if s.Type == "Sequence" {
		steps = s.Pretokenizers
	}
	split := len(steps) == 2 && steps[0].Type == "Digits" && steps[0].Individual
	if split {
		steps = steps[1:]
	}
	if len(steps) != 1 || steps[0].Type != "ByteLevel" || steps[0].AddPrefixSpace || steps[0].UseRegex != nil && !*steps[0].UseRegex {
		return false, fmt.Errorf("pre_tokenizer is %+v, want ByteLevel by the pattern of GPT-2, or individual Digits before it", s)
	}
	return split, nil
}

func (f *tokenizerFile) tokens(t *Tokenizer) error {
	owner := make(map[int]string)
	own := func(text string, id int) error {
		if other, ok := owner[id]; id < 0 || ok && other != text {
			return fmt.Errorf("token %q has the number %d, which is negative or that of %q", text, id, other)
		}
		owner[id] = text
		t.largest = max(t.largest, id)
		return nil
	}
	var specials []string
	for _, a := range f.Added {
		if a.SingleWord || a.LStrip || a.RStrip || a.Content == "" {
			return fmt.Errorf("token %q of added_tokens is empty, or has single_word, lstrip or rstrip", a.Content)
		}
		if err := own(a.Content, a.ID); err != nil {
			return err
		}
		t.special[a.Content] = a.ID
		specials = append(specials, regexp.QuoteMeta(a.Content))
		if !a.Special {
			t.bytes[a.ID] = a.Content
		}
	}
	if len(specials) > 0 {
		// The regular expression prefers the first alternative that matches.
		slices.SortFunc(specials, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
		t.specials = regexp.MustCompile(strings.Join(specials, "|"))
	}
	t.unknown, t.fuse = -1, f.Model.Fuse
	if name := f.Model.Unknown; name != "" {
		id, ok := f.Model.Vocab[name]
		if !ok {
			return fmt.Errorf("unk_token is %q, want a token of vocab", name)
		}
		t.unknown = id
	}
	for b := range t.byteID {
		t.byteID[b] = -1
	}
	for text, id := range f.Model.Vocab {
		if err := own(text, id); err != nil {
			return err
		}
		if _, ok := t.special[text]; ok {
			continue
		}
		bytes, ok := raw(text)
		if !ok {
			return fmt.Errorf("token %q has a character that stands for no byte", text)
		}
		t.bytes[id] = bytes
		if len(bytes) == 1 {
			t.byteID[bytes[0]] = id
		}
	}
	for rank, p := range f.Model.Merges {
		a, okA := f.Model.Vocab[p[0]]
		b, okB := f.Model.Vocab[p[1]]
		both, ok := f.Model.Vocab[p[0]+p[1]]
		if !okA || !okB || !ok {
			return fmt.Errorf("merge %d of %q and %q: vocab lacks one of the three tokens", rank, p[0], p[1])
		}
		if _, twice := t.merges[[2]int{a, b}]; twice {
			return fmt.Errorf("merge %d of %q and %q occurs twice", rank, p[0], p[1])
		}
		t.merges[[2]int{a, b}] = merge{rank, both}
	}
	return nil
}
