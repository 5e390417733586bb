package main

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/matrices"
)

type input struct {
	heads []head
	rank  int    // of the tensors: 2, or 3 with a dimension for heads
	title string // of the panel
	about string // the origin of the tensors
}

type head struct{ q, k, v dense.Matrix[float32] }

func (s settings) inputs() ([]input, error) {
	if s.q != "" {
		in, err := s.fromFiles()
		return []input{in}, err
	}
	all, err := s.fromHeads()
	if err != nil {
		return nil, err
	}
	var inputs []input
	for _, length := range s.lengths {
		in := all
		in.heads = nil
		n := min(length, all.heads[0].q.Rows)
		for _, h := range all.heads {
			in.heads = append(in.heads, head{q: h.q.RowRange(0, n), k: h.k.RowRange(0, n), v: h.v.RowRange(0, n)})
		}
		in.title = fmt.Sprintf("%d tokens", n)
		if !slices.ContainsFunc(inputs, func(other input) bool { return other.title == in.title }) {
			inputs = append(inputs, in)
		}
	}
	return inputs, nil
}

func (s settings) fromHeads() (all input, err error) {
	folders, _ := filepath.Glob(filepath.Join(s.folder, "*", "q.npy")) // the pattern is right
	if len(folders) == 0 {
		return all, fmt.Errorf("-heads is %q, want a folder of folders with q.npy, k.npy and v.npy, as in examples/attention/smollm2 of the repository", s.folder)
	}
	for i, q := range folders {
		folder := filepath.Dir(q)
		s.q, s.k, s.v = q, filepath.Join(folder, "k.npy"), filepath.Join(folder, "v.npy")
		in, err := s.fromFiles()
		if err != nil {
			return all, err
		}
		all.heads = append(all.heads, in.heads...)
		first, h := all.heads[0], in.heads[0]
		if h.k.Rows != h.q.Rows || h.q.Rows != first.q.Rows || h.q.Cols != first.q.Cols || h.v.Cols != first.v.Cols {
			return all, fmt.Errorf("%s has %d queries, %d keys and values of %d and %d coordinates, want %d, %[6]d, %d and %d as in %s", folder,
				h.q.Rows, h.k.Rows, h.q.Cols, h.v.Cols, first.q.Rows, first.q.Cols, first.v.Cols, folders[0])
		}
		folders[i] = filepath.Base(folder)
	}
	all.rank = 3
	all.about = fmt.Sprintf("Heads in the folders %v of %s. Rotary positions are in queries and keys.", folders, s.folder)
	return all, nil
}

func (s settings) fromFiles() (in input, err error) {
	var x [3]dense.Tensor[float32]
	var shapes [3][]int
	for i, path := range []string{s.q, s.k, s.v} {
		if x[i], shapes[i], err = matrices.Read(path); err != nil {
			return in, err
		}
		switch {
		case len(shapes[i]) != len(shapes[0]):
			return in, fmt.Errorf("%s has shape %v, %s has %v: want the same rank", s.q, shapes[0], path, shapes[i])
		case x[i].Heads != x[0].Heads:
			return in, fmt.Errorf("%s has %d heads, %s has %d: want the same", s.q, x[0].Heads, path, x[i].Heads)
		}
	}
	for h := range x[0].Heads {
		in.heads = append(in.heads, head{q: dense.Head(x[0], 0, h), k: dense.Head(x[1], 0, h), v: dense.Head(x[2], 0, h)})
	}
	switch h := in.heads[0]; {
	case h.q.Cols != h.k.Cols:
		return in, fmt.Errorf("queries of %s have dimension %d, keys of %s %d: want the same", s.q, h.q.Cols, s.k, h.k.Cols)
	case h.k.Rows != h.v.Rows:
		return in, fmt.Errorf("%s has %d keys, %s has %d values: want the same", s.k, h.k.Rows, s.v, h.v.Rows)
	case s.causal && h.q.Rows != h.k.Rows:
		return in, fmt.Errorf("%s has %d queries, %s has %d keys: -causal wants the same", s.q, h.q.Rows, s.k, h.k.Rows)
	}
	in.rank = len(shapes[0])
	in.title = fmt.Sprintf("%s, %s, %s", s.q, s.k, s.v)
	in.about = fmt.Sprintf("Q = %s %v, K = %s %v, V = %s %v", s.q, shapes[0], s.k, shapes[1], s.v, shapes[2])
	return in, nil
}
