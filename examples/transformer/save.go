package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/half"
	"github.com/seed-feabd252/randfeat/examples/internal/lm"
	"github.com/seed-feabd252/randfeat/npy"
)

// saveHeads writes queries, keys and values of heads to files in half precision, heads×tokens×d.
func (s settings) saveHeads(w io.Writer, m *lm.Model) error {
	text, err := m.Text(s.text, s.context, s.context)
	if err != nil {
		return err
	}
	heads, err := m.Gather(s.heads, text.Batches[0].Tokens)
	if err != nil {
		return err
	}
	for name, part := range map[string]func(h lm.Head) dense.Matrix[float32]{
		"q": func(h lm.Head) dense.Matrix[float32] { return h.Q },
		"k": func(h lm.Head) dense.Matrix[float32] { return h.K },
		"v": func(h lm.Head) dense.Matrix[float32] { return h.V },
	} {
		var all []half.Float16
		for _, h := range heads {
			for i, x := 0, part(h); i < x.Rows; i++ {
				all = append(all, half.Encode[half.Float16](nil, x.Row(i))...)
			}
		}
		if err := npy.WriteFile(filepath.Join(s.save, name+".npy"), all, len(heads), s.context, m.HeadDim); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(w, "%d heads over %d tokens of %s are in %s.\n", len(heads), s.context, text.Name, s.save)
	return err
}
