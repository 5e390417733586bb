package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/examples/internal/gallery"
)

// TestGallery recalls values as the program does without flags.
func TestGallery(t *testing.T) {
	s := settings{d: 64, decay: 0.01, draws: 20}
	rows, err := s.measure(exprand.NewSource(1))
	require.NoError(t, err)
	p := gallery.Of("associative", s.picture(rows))
	p.Relative = 1e-5 // rounding
	gallery.Check(t, p)
}
