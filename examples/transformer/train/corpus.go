package main

import (
	"fmt"
	"math"

	"github.com/seed-feabd252/randfeat/examples/internal/bpe"
	"github.com/seed-feabd252/randfeat/examples/internal/decoder"
	"github.com/seed-feabd252/randfeat/examples/internal/goroot"
)

// corpus is texts in tokens. Every text ends in the token EndOfText.
type corpus struct {
	training, heldOut []uint16
	longest           int     // sequence
	bytesPerToken     float64 // of held-out texts
}

// newCorpus returns the corpus of texts. It is an error if there are too few tokens for a sequence.
func newCorpus(texts []goroot.Text, t *bpe.Tokenizer, longest int) (*corpus, error) {
	c := &corpus{longest: longest}
	var tokens []int
	bytes := 0
	for _, text := range texts {
		to := &c.training
		if text.HeldOut {
			to = &c.heldOut
			bytes += len(text.Text)
		}
		tokens = append(t.Encode(tokens[:0], text.Text), t.EndOfText())
		for _, token := range tokens {
			*to = append(*to, uint16(token))
		}
	}
	if n := min(len(c.training), len(c.heldOut)); n <= longest {
		return nil, fmt.Errorf("the Go distribution has %d tokens to train on and %d held out, want more than %d of each",
			len(c.training), len(c.heldOut), longest)
	}
	c.bytesPerToken = float64(bytes) / float64(len(c.heldOut))
	return c, nil
}

// sample returns n sequences of the given length, and counts them in j. Sequence j begins at the
// fraction j·φ mod 1 of the text, φ = (√5+1)/2, so that sequences spread evenly, however long they
// are.
func (c *corpus) sample(n, length int, j *int) (b decoder.Batch) {
	for range n {
		*j++
		_, at := math.Modf(float64(*j) * math.Phi)
		b.Append(c.training, int(at*float64(len(c.training)-length)), length)
	}
	return b
}

// loss returns the mean loss over about n held-out tokens, in the longest sequences, which begin
// anywhere in a text.
func (c *corpus) loss(m *decoder.Model[float32], n int) float64 {
	var sum, count float64
	every := max((len(c.heldOut)-1)/n, 1)
	for at := 0; at+c.longest < len(c.heldOut); at += every * c.longest {
		var b decoder.Batch
		b.Append(c.heldOut, at, c.longest)
		for _, l := range m.Losses(b) {
			sum += l
			count++
		}
	}
	return sum / count
}
