package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/examples/internal/gallery"
)

// TestGallery measures three maps of the softmax kernel.
func TestGallery(t *testing.T) {
	gallery.Begin(t)
	s, err := options{
		kernel: "softmax", features: "trig,positive,optimal", projection: "iid,gram-schmidt,hadamard",
		d: 16, pairs: 8, norm: 0.7, draws: 1000, seed: 1,
	}.study()
	require.NoError(t, err)
	src := exprand.NewSource(s.seed)
	s.x, s.y = s.points(src)
	rows, err := s.measure(src)
	require.NoError(t, err)
	p := gallery.Of("variance", s.picture(rows))
	p.Relative = 1e-5 // rounding
	gallery.Check(t, p)
}
