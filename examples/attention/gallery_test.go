package main

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/examples/internal/gallery"
)

// TestGallery measures the forms of attention as the program does without flags, in fewer draws.
func TestGallery(t *testing.T) {
	gallery.Begin(t)
	s, _, err := parse([]string{"-draws", "2"}, io.Discard)
	require.NoError(t, err)
	in, err := fromText(s)
	require.NoError(t, err)
	if !strings.Contains(in.title, "Opticks") {
		t.Skip("this Go distribution ships no text")
	}
	words, err := compare(s, in, io.Discard)
	require.NoError(t, err)
	s.folder = "smollm2"
	heads, err := compareHeads(s, io.Discard)
	require.NoError(t, err)
	p := gallery.Of("attention", s.picture(append([]compared{words}, heads...)...))
	p.Timed = true
	// Rounding may tip the choice of a cluster, of which there are at least 64.
	p.Relative, p.Absolute = 0.2, 1e-6
	gallery.Check(t, p)
}
