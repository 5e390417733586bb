package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/examples/internal/gallery"
)

// TestGallery rounds vectors as the program does without flags.
func TestGallery(t *testing.T) {
	s := settings{vectors: 256, outliers: 4, factor: 30}
	rows, err := s.measure(exprand.NewSource(1))
	require.NoError(t, err)
	p := gallery.Of("rotation", s.picture(rows))
	p.Relative = 1e-4 // coordinates in the middle between two levels may go either way
	gallery.Check(t, p)
}
