package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// corpus is a text as numbers of symbols. Its last tenth is held out.
type corpus struct {
	symbols           []rune // in ascending order
	training, heldOut []int
}

// batch is sequences of one length one after another, and the symbol that follows each symbol.
type batch struct {
	symbols, next []int
	length        int
}

// newCorpus returns the corpus of a text. The error reports a text whose last tenth is shorter than
// a sequence of the given length and the symbol that follows.
func newCorpus(text string, length int) (corpus, error) {
	runes := []rune(text)
	c := corpus{symbols: slices.Clone(runes)}
	slices.Sort(c.symbols)
	c.symbols = slices.Compact(c.symbols)
	numbers := make([]int, len(runes))
	for i, r := range runes {
		numbers[i], _ = slices.BinarySearch(c.symbols, r)
	}
	cut := len(runes) - len(runes)/10
	c.training, c.heldOut = numbers[:cut], numbers[cut:]
	if len(c.heldOut) <= length {
		return c, fmt.Errorf("the text has %d characters, want at least %d for sequences of %d in its last tenth", len(runes), 10*(length+1), length)
	}
	return c, nil
}

// text returns the characters of symbols.
func (c corpus) text(symbols []int) string {
	runes := make([]rune, len(symbols))
	for i, s := range symbols {
		runes[i] = c.symbols[s]
	}
	return string(runes)
}

// sample returns n sequences of the given length from anywhere in the training text.
func (c corpus) sample(n, length int, rng *rand.Rand) batch {
	b := batch{length: length}
	for range n {
		b.take(c.training, rng.IntN(len(c.training)-length))
	}
	return b
}

// validation cuts the held-out text into sequences of the given length and returns them in batches
// of n; the last batch may have fewer.
func (c corpus) validation(n, length int) []batch {
	var all []batch
	for at := 0; at+length < len(c.heldOut); at += length {
		if at/length%n == 0 {
			all = append(all, batch{length: length})
		}
		all[len(all)-1].take(c.heldOut, at)
	}
	return all
}

// take appends the sequence that begins at the given place.
func (b *batch) take(from []int, at int) {
	b.symbols = append(b.symbols, from[at:at+b.length]...)
	b.next = append(b.next, from[at+1:at+b.length+1]...)
}

// entropy returns −Σ p·log p in nats, where p are the frequencies of the symbols in the entire
// text: the loss of the best prediction that does not depend on the symbols before.
func (c corpus) entropy() (h float64) {
	counts := make([]float64, len(c.symbols))
	for _, text := range [][]int{c.training, c.heldOut} {
		for _, s := range text {
			counts[s]++
		}
	}
	n := float64(len(c.training) + len(c.heldOut))
	for _, k := range counts {
		h -= k / n * math.Log(k/n)
	}
	return h
}
