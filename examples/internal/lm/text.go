package lm

import (
	"fmt"
	"os"

	"github.com/seed-feabd252/randfeat/examples/internal/decoder"
	"github.com/seed-feabd252/randfeat/examples/internal/goroot"
)

// Text is a text divided into sequences of tokens. Each batch holds one sequence.
type Text struct {
	Name          string
	Batches       []decoder.Batch
	BytesPerToken float64
}

// Tokens returns the number of tokens.
func (t *Text) Tokens() int { return len(t.Batches) * len(t.Batches[0].Tokens) }

// Text divides at most the given number of tokens of a file into sequences of context tokens. With
// an empty path it reads the files of the Go distribution that were held out from training, with
// EndOfText between files if the model has that token. Text returns an error if the text is shorter
// than one sequence.
func (m *Model) Text(path string, tokens, context int) (*Text, error) {
	all := &Text{Name: path}
	var texts []string
	if path != "" {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		texts = []string{string(data)}
	} else {
		var err error
		if texts, err = goroot.HeldOut(); err != nil {
			return nil, fmt.Errorf("%w (-text names another text)", err)
		}
		all.Name = "held-out files of the Go distribution"
	}
	var ids []int
	bytes := 0
	for _, text := range texts {
		if len(ids) > tokens {
			break
		}
		ids = m.Tokenizer.Encode(ids, text)
		if end := m.Tokenizer.EndOfText(); end < m.Vocabulary {
			ids = append(ids, end)
		}
		bytes += len(text)
	}
	all.BytesPerToken = float64(bytes) / float64(max(len(ids), 1))
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
