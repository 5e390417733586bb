package main

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/examples/internal/gallery"
	"github.com/seed-feabd252/randfeat/examples/internal/progress"
)

// TestGallery measures the forms of attention as the program does without flags, in fewer draws.
func TestGallery(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	s, _, err := parse([]string{"-draws", "2"}, io.Discard)
	require.NoError(t, err)
	in, err := fromText(s)
	require.NoError(t, err)
	if !strings.Contains(in.title, "Opticks") {
		t.Skip("this Go distribution ships no text")
	}
	c, err := newComparison(s, in)
	require.NoError(t, err)
	rows, err := c.measureForms(c.sizes, progress.Bar{})
	require.NoError(t, err)
	references, err := c.references()
	require.NoError(t, err)
	p := gallery.Of("attention", c.picture(append(rows, references...)))
	p.Timed = true
	// Rounding may tip the choice of a landmark, of which there are at least 64.
	p.Relative, p.Absolute = 0.2, 1e-6
	gallery.Check(t, p)
}
