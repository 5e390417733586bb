package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/examples/internal/gallery"
)

// TestGallery measures attention as the program does without flags.
func TestGallery(t *testing.T) {
	gallery.Begin(t)
	s, _, err := parse([]string{"-heads", "smollm2"}, io.Discard)
	require.NoError(t, err)
	inputs, err := s.inputs()
	require.NoError(t, err)
	var all []*comparison
	for _, in := range inputs {
		all = append(all, comparisonOf(t, s, in))
	}
	p := gallery.Of("attention", s.picture(all...))
	p.Timed = true
	// Rounding may tip the choice of a cluster, of which there are at least 64.
	p.Relative, p.Absolute = 0.2, 1e-6
	gallery.Check(t, p)
}
