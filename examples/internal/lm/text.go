package lm

import (
	"fmt"

	"github.com/seed-feabd252/randfeat/examples/internal/decoder"
	"github.com/seed-feabd252/randfeat/examples/internal/text"
)

// Text is a text divided into sequences of tokens. Each batch holds one sequence.
type Text struct {
	Name          string
	Batches       []decoder.Batch
	BytesPerToken float64
}

// Tokens returns the number of tokens.
func (t *Text) Tokens() int { return len(t.Batches) * len(t.Batches[0].Tokens) }

// Text divides at most the given number of tokens of a text into sequences of context tokens. Path
// names the text as in text.Read. Text returns an error if the text is shorter than one sequence.
func (m *Model) Text(path string, tokens, context int) (*Text, error) {
	source, err := text.Read(path)
	if err != nil {
		return nil, err
	}
	ids := m.Tokenizer.Encode(nil, source.Text)
	all := &Text{Name: source.Name, BytesPerToken: float64(len(source.Text)) / float64(max(len(ids), 1))}
	for at := 0; at+context < len(ids) && at+context <= tokens; at += context {
		all.Batches = append(all.Batches, decoder.Batch{
			Tokens: ids[at : at+context], Next: ids[at+1 : at+context+1], Lengths: []int{context},
		})
	}
	if len(all.Batches) == 0 {
		return nil, fmt.Errorf("%s has %d tokens, want more than the %d of a sequence", all.Name, len(ids), context)
	}
	return all, nil
}
