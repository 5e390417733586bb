package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// headsFolder is the folder of the default heads, from the root of the repository.
const headsFolder = "examples/attention/smollm2"

const headDraws = 2 // draws of the frequencies or clusters of a form

// headForms are the forms that the program compares on heads of a model.
var headForms = []string{"clusters", "SDERF", "FAVOR+"}

// compareHeads compares forms of attention on heads of a model. It returns nothing if the folder of
// the default heads is not here.
func compareHeads(s settings, stdout io.Writer) ([]compared, error) {
	if s.folder == "" {
		return nil, nil
	}
	in, err := fromHeads(s)
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(stdout)
	if len(in.heads) == 0 {
		if s.folder != headsFolder {
			return nil, fmt.Errorf("-heads is %q, want a folder of folders with q.npy, k.npy and v.npy", s.folder)
		}
		_, err := fmt.Fprintf(stdout, "There are no heads in %s: the root of the repository has some, and -heads names others.\n", s.folder)
		return nil, err
	}
	s.draws, s.out = headDraws, "" // -o is for the outputs of the text
	c, err := compare(s, in, stdout)
	if err != nil {
		return nil, err
	}
	return []compared{c}, nil
}

// fromHeads reads the files q.npy, k.npy and v.npy of each folder in s.folder, and takes the first
// s.length tokens. All heads have one shape.
func fromHeads(s settings) (all input, err error) {
	files, err := filepath.Glob(filepath.Join(s.folder, "*", "q.npy"))
	if err != nil {
		return all, err
	}
	var texts []string
	for _, q := range files {
		s.q, s.k, s.v = q, filepath.Join(filepath.Dir(q), "k.npy"), filepath.Join(filepath.Dir(q), "v.npy")
		in, err := fromFiles(s)
		if err != nil {
			return all, err
		}
		for _, h := range in.heads {
			n := min(s.length, h.q.Rows, h.k.Rows)
			all.heads = append(all.heads, head{q: h.q.RowRange(0, n), k: h.k.RowRange(0, n), v: h.v.RowRange(0, n)})
			if first := all.heads[0].q; h.q.Cols != first.Cols || n != first.Rows {
				return all, fmt.Errorf("%s has %d tokens of %d coordinates, the first head %d of %d: want the same", q, n, h.q.Cols, first.Rows, first.Cols)
			}
		}
		texts = append(texts, filepath.Base(filepath.Dir(q)))
	}
	all.rank, all.forms = 3, headForms
	all.title = "heads of SmolLM2"
	all.about = []string{fmt.Sprintf("Heads in the folders %s of %s. Rotary positions are in queries and keys.", strings.Join(texts, ", "), s.folder)}
	return all, nil
}
