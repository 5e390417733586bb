package lm

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/performer/blocks"
	"github.com/seed-feabd252/randfeat/rff"
)

type Form struct {
	Name  string
	Size  int // features, blocks, tokens, bits, or keys
	Sinks int // the first tokens, which a window does not exclude
	Bits  int // of the codes of which topk reads some, or 0
}

// Forms describes the texts that ParseForm reads.
const Forms = "exact, mean (the mean of the values so far), elu, positive:m (m random features of the softmax kernel), " +
	"blocks:c (blocks of keys with the threshold 10/c, at most 0.7), " +
	"window:w (the w tokens before each one alone), window:w+s (and the first s), bits:b (exact, in 8 bits; of a stream, b bits: 3, 4, 8 or 16), " +
	"topk:k (of a stream: each query reads about k keys), or topk:k+b (in b bits); m and c are at most 8192, k, w and s at most 1048576"

// most holds the largest size of each form, and 0 for forms without a size.
var most = map[string]int{
	"exact": 0, "mean": 0, "elu": 0, "bits": 16, "positive": 1 << 13, "blocks": 1 << 13, "window": 1 << 20, "topk": 1 << 20,
}

func ParseForm(text string) (Form, error) {
	name, size, sized := strings.Cut(text, ":")
	f := Form{Name: name}
	most, ok := most[name]
	number := func(text string) int {
		n, err := strconv.Atoi(text)
		ok = ok && err == nil && n >= 1 && n <= most
		return n
	}
	if sized {
		first, second, cut := strings.Cut(size, "+")
		f.Size = number(first)
		switch {
		case cut && name == "window":
			f.Sinks = number(second)
		case cut && name == "topk":
			f.Bits = number(second)
		case cut:
			ok = false
		case name == "bits":
			f.Bits = f.Size
		}
	}
	if !ok || sized != (most > 0) || !slices.Contains([]int{0, 3, 4, 8, 16}, f.Bits) {
		return f, fmt.Errorf("-form is %q, want %s", text, Forms)
	}
	return f, nil
}

func ParseForms(texts ...string) (forms []Form, err error) {
	for _, text := range texts {
		f, err := ParseForm(text)
		if err != nil {
			return nil, err
		}
		forms = append(forms, f)
	}
	return forms, nil
}

func (f Form) String() string {
	s := f.Name
	if f.Size > 0 {
		s = fmt.Sprintf("%s, %d", f.Name, f.Size)
	}
	if f.Sinks > 0 {
		s += fmt.Sprintf(" and %d sinks", f.Sinks)
	}
	if f.Name == "topk" && f.Bits > 0 {
		s += fmt.Sprintf(" in %d bits", f.Bits)
	}
	return s
}

func (f Form) Use(m *Model, seed uint64) error {
	for l := range m.Layers {
		forms := make([]performer.Attention[float32], m.Heads)
		for h := range forms {
			var err error
			if forms[h], err = f.Attention(m.HeadDim, true, seed+uint64(l*m.Heads+h)); err != nil {
				return fmt.Errorf("%v: %w", f, err)
			}
		}
		batch, err := performer.NewBatch(performer.BatchOptions{Heads: m.Heads, KeyHeads: m.KeyHeads}, forms...)
		if err != nil {
			return err
		}
		if err := m.Use(l, batch); err != nil {
			return err
		}
	}
	return nil
}

func (f Form) Attention(d int, causal bool, seed uint64) (performer.Attention[float32], error) {
	src := exprand.NewSource(seed)
	exact := performer.ExactOptions{Softmax: performer.Softmax{Causal: causal}, Bits: f.Bits}
	switch f.Name {
	case "mean":
		exact.Scale = 1e-30 // zero would mean 1/√d
	case "window":
		exact.Window, exact.Sinks = f.Size, f.Sinks
	case "topk":
		exact.TopK = f.Size
	case "elu":
		phi, err := rff.Draw[float32](rff.ELU{D: d}, nil)
		if err != nil {
			return nil, err
		}
		return performer.NewLinear(phi, performer.LinearOptions{Causal: causal})
	case "positive":
		w, err := orf.Draw[float32](orf.GramSchmidt{}, f.Size, d, src)
		if err != nil {
			return nil, err
		}
		phi, err := rff.Draw(rff.SoftmaxPositive{Scale: 1 / math.Sqrt(float64(d))}, w)
		if err != nil {
			return nil, err
		}
		return performer.NewLinear(phi, performer.LinearOptions{Causal: causal})
	case "blocks":
		return blocks.New[float32](blocks.Options{Softmax: exact.Softmax, EightBits: true, Threshold: min(10/float64(f.Size), 0.7)})
	}
	return performer.NewExact[float32](exact)
}
