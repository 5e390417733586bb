package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/examples/internal/gallery"
)

// TestGallery searches passages of the text as the program does without flags, with fewer queries.
func TestGallery(t *testing.T) {
	gallery.Begin(t)
	s := settings{seed: 1, dim: 128, words: 8, queries: 100, k: 10}
	all, from, err := s.vectors()
	require.NoError(t, err)
	if !strings.Contains(from, "Opticks") {
		t.Skip("this Go distribution ships no text")
	}
	c := newComparison(s, all)
	_, rows, err := c.measure()
	require.NoError(t, err)
	p := gallery.Of("search", c.picture(rows))
	p.Absolute = 0.005 // rounding may swap equally near rows, 5 of the 1000 that are found
	gallery.Check(t, p)
}
