package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/decoder"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/performer"
	"github.com/seed-feabd252/randfeat/rff"
)

// form is a form of attention for one head or all.
type form struct {
	name        string
	size        int // features or landmarks
	layer, head int // −1 for all
}

// parseForm reads the flags -form and -only.
func parseForm(text, only string) (form, error) {
	f := form{layer: -1, head: -1}
	name, size, sized := strings.Cut(text, ":")
	f.name = name
	switch name {
	case "exact", "mean", "elu":
		if sized {
			return f, fmt.Errorf("-form is %q, want %s without a size", text, name)
		}
	case "positive", "landmarks":
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 {
			return f, fmt.Errorf("-form is %q, want %s:n with n at least 1", text, name)
		}
		f.size = n
	default:
		return f, fmt.Errorf("-form is %q, want exact, mean, elu, positive:m or landmarks:r", text)
	}
	if only == "" {
		return f, nil
	}
	layer, head, _ := strings.Cut(only, ".")
	var errs [2]error
	f.layer, errs[0] = strconv.Atoi(layer)
	f.head, errs[1] = strconv.Atoi(head)
	if errs[0] != nil || errs[1] != nil || f.layer < 0 || f.head < 0 {
		return f, fmt.Errorf("-only is %q, want layer.head from 0.0", only)
	}
	return f, nil
}

func (f form) String() string {
	s := f.name
	if f.size > 0 {
		s = fmt.Sprintf("%s, %d", f.name, f.size)
	}
	if f.layer >= 0 {
		s += fmt.Sprintf(", head %d.%d", f.layer, f.head)
	}
	return s
}

// exact returns exact attention for all layers of a model.
func exact(c decoder.Config) func(int) (decoder.Attention[float32], error) {
	return func(int) (decoder.Attention[float32], error) {
		return performer.NewBatch[float32](c.Heads, c.KeyHeads, performer.Exact[float32]{Causal: true})
	}
}

// layers returns the attention of every layer. Landmarks are keys of b, which is a batch of exact
// attention.
func (f form) layers(m *decoder.Model[float32], b decoder.Batch, seed uint64) ([]decoder.Attention[float32], error) {
	if _, err := m.Forward(b.Tokens, b.Lengths); err != nil {
		return nil, err
	}
	var all []decoder.Attention[float32]
	for l := range m.Layers {
		_, keys, _ := m.Projections(l)
		forms := make([]performer.Form[float32], m.Heads)
		for h := range forms {
			forms[h] = performer.Exact[float32]{Causal: true}
			if f.layer >= 0 && (l != f.layer || h != f.head) {
				continue
			}
			from := h / (m.Heads / m.KeyHeads) * m.HeadDim
			var err error
			if forms[h], err = f.of(keys.ColRange(from, from+m.HeadDim), seed+uint64(l*m.Heads+h)); err != nil {
				return nil, fmt.Errorf("-form %s: %w", f.name, err)
			}
		}
		batch, err := performer.NewBatch(m.Heads, m.KeyHeads, forms...)
		if err != nil {
			return nil, err
		}
		all = append(all, batch)
	}
	return all, nil
}

// of returns the form for a head with such keys.
func (f form) of(keys dense.Matrix[float32], seed uint64) (performer.Form[float32], error) {
	src := exprand.NewSource(seed)
	d := keys.Cols
	switch f.name {
	case "mean":
		const none = 1e-30 // zero would mean 1/√d
		return performer.Exact[float32]{Causal: true, Scale: none}, nil
	case "elu":
		phi, err := rff.ELU[float32](d)
		if err != nil {
			return nil, err
		}
		return performer.New(phi, performer.Options{Causal: true})
	case "positive":
		w, err := orf.Draw[float32](orf.GramSchmidt{}, f.size, d, src)
		if err != nil {
			return nil, err
		}
		phi, err := rff.SoftmaxPositive(w, 1/math.Sqrt(float64(d)))
		if err != nil {
			return nil, err
		}
		return performer.New(phi, performer.Options{Causal: true})
	case "landmarks":
		z := dense.New[float32](min(f.size, keys.Rows), d)
		for i, row := range exprand.New(src).Perm(keys.Rows)[:z.Rows] {
			copy(z.Row(i), keys.Row(row))
		}
		return performer.NewLandmarksAt(performer.Exact[float32]{Causal: true}, z)
	}
	return performer.Exact[float32]{Causal: true}, nil
}
