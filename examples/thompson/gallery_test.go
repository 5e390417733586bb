package main

import (
	"testing"

	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/examples/internal/gallery"
)

// TestGallery searches as the program does without flags. The numbers are the first places, which
// are random, and the best value after so many evaluations.
func TestGallery(t *testing.T) {
	gallery.Begin(t)
	s := settings{evaluations: 50, start: 6, candidates: 2000, frequencies: 128, noise: 0.1}
	h, err := s.maximise(exprand.NewSource(1))
	require.NoError(t, err)
	p := gallery.Picture{
		Name: "thompson",
		Save: func(path string) error { return h.save(path, exprand.NewSource(1)) },
		// Rounding soon leads to other places: what they have in common is that they get near the
		// maximum, from which a random search with as many evaluations is 0.3 away.
		Absolute: 0.1,
	}
	for i := range s.start {
		p.Numbers = append(p.Numbers,
			gallery.Number{Panel: "place", Series: "u", X: float64(i), Y: h.x.At(i, 0)},
			gallery.Number{Panel: "place", Series: "v", X: float64(i), Y: h.x.At(i, 1)})
	}
	for n := 30; n <= h.n; n += 10 {
		p.Numbers = append(p.Numbers, gallery.Number{Panel: "search", Series: "best", X: float64(n), Y: h.best(n)})
	}
	gallery.Check(t, p)
}
