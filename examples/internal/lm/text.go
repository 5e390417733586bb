package lm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/seed-feabd252/randfeat/examples/internal/decoder"
)

// Text is a text divided into sequences of tokens. Each batch holds one sequence.
type Text struct {
	Name          string
	Batches       []decoder.Batch
	BytesPerToken float64
}

func (t *Text) Tokens() int { return len(t.Batches) * len(t.Batches[0].Tokens) }

// Text divides at most the given number of tokens of a file into sequences of context tokens. The
// empty path is Newton's Opticks. Text returns an error if the file is not UTF-8, or shorter than
// one sequence.
func (m *Model) Text(path string, tokens, context int) (*Text, error) {
	name := path
	if path == "" {
		name, path = "Newton's Opticks", opticks()
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) && name != path {
		return nil, errors.New("this Go distribution has no Opticks: name a text with -text")
	}
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(data) {
		return nil, fmt.Errorf("%s: not UTF-8 text", path)
	}
	ids := m.Tokenizer.Encode(nil, string(data))
	all := &Text{Name: name, BytesPerToken: float64(len(data)) / float64(max(len(ids), 1))}
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

// Some Linux packages of Go lack Newton's Opticks (1730), and runtime.GOROOT is empty in a program
// that was built with -trimpath.
func opticks() string {
	root := os.Getenv("GOROOT")
	if root == "" {
		// without the command there is no text
		out, _ := exec.Command("go", "env", "GOROOT").Output()
		root = strings.TrimSpace(string(out))
	}
	return filepath.Join(root, "src", "testdata", "Isaac.Newton-Opticks.txt")
}
