package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/lm"
	"github.com/seed-feabd252/randfeat/performer"
)

// attendLayers reads queries, keys and values of layer after layer, and writes the outputs of the
// form, token by token in a state. A layer is int32 heads, heads of keys, tokens and d, then
// float32 queries, keys and values, all tokens of a head before the next head, little-endian.
// Outputs are like queries.
func (s settings) attendLayers(r io.Reader, w io.Writer, f lm.Form) error {
	in, out := bufio.NewReader(r), bufio.NewWriter(w)
	for {
		var layer struct{ Heads, KeyHeads, Tokens, D int32 }
		if err := binary.Read(in, binary.LittleEndian, &layer); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("-pipe: %w", err)
		}
		heads, keyHeads, n, d := int(layer.Heads), int(layer.KeyHeads), int(layer.Tokens), int(layer.D)
		if min(heads, keyHeads, n, d) < 1 || float64(max(heads, keyHeads))*float64(n)*float64(d) > 1<<30 {
			return fmt.Errorf("-pipe: a layer of %d heads over %d, %d tokens and d = %d, want 1 to 2³⁰ elements", heads, keyHeads, n, d)
		}
		a, err := f.Attention(d, true, s.seed)
		if err != nil {
			return err
		}
		b, err := performer.NewBatch(performer.BatchOptions{Heads: heads, KeyHeads: keyHeads}, a)
		if err != nil {
			return err
		}
		state, err := b.NewState(d, d)
		if err != nil {
			return err
		}
		var tokens [3]dense.Matrix[float32] // queries, keys and values
		head := make([]float32, n*d)
		for i, heads := range [...]int{heads, keyHeads, keyHeads} {
			tokens[i] = dense.New[float32](n, heads*d)
			for h := range heads {
				if err := binary.Read(in, binary.LittleEndian, head); err != nil {
					return fmt.Errorf("-pipe: %w", err)
				}
				dense.Copy(tokens[i].ColRange(h*d, (h+1)*d), dense.Of(n, d, head))
			}
		}
		q := state.Step(tokens[0], tokens[0], tokens[1], tokens[2])
		for h := range heads {
			dense.Copy(dense.Of(n, d, head), q.ColRange(h*d, (h+1)*d))
			if err := binary.Write(out, binary.LittleEndian, head); err != nil {
				return err
			}
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
}
