package main

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/examples/internal/gallery"
)

// TestGallery measures the forms of attention as the program does without flags.
func TestGallery(t *testing.T) {
	gallery.Begin(t)
	s, _, err := parse(nil, io.Discard)
	require.NoError(t, err)
	s.model = filepath.Join("..", "transformer", "trained")
	in, err := fromModel(s)
	require.NoError(t, err)
	c, err := newComparison(s, in)
	require.NoError(t, err)
	rows, err := c.measure()
	require.NoError(t, err)
	p := gallery.Of("attention", c.picture(rows))
	p.Timed = true
	// Rounding may tip the choice of a landmark, of which there are at least 64.
	p.Relative, p.Absolute = 0.2, 1e-6
	gallery.Check(t, p)
}
