package main

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/examples/internal/gallery"
)

// TestGallery measures what the program measures without flags.
func TestGallery(t *testing.T) {
	gallery.Begin(t)
	s := settings{seed: 1, rows: 10_000, dim: 128, queries: 100, k: 10}
	all, err := s.vectors()
	require.NoError(t, err)
	f, err := newComparison(s, all).compare(io.Discard)
	require.NoError(t, err)
	p := gallery.Of("search", f)
	p.Absolute = 0.005 // rounding may swap equally near rows, 5 of the 1000 that are found
	gallery.Check(t, p)
}
