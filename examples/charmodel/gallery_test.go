package main

import (
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/examples/internal/gallery"
	"github.com/seed-feabd252/randfeat/examples/internal/progress"
	"github.com/seed-feabd252/randfeat/examples/internal/text"
)

// TestGallery trains both models for some steps.
func TestGallery(t *testing.T) {
	gallery.Begin(t)
	s, _, err := parse([]string{"-steps", "150", "-batch", "2", "-context", "64"}, io.Discard)
	require.NoError(t, err)
	from, err := text.Read("")
	require.NoError(t, err)
	if !strings.Contains(from.Title, "Opticks") {
		t.Skip("this Go distribution ships no text")
	}
	c, err := newCorpus(from.Text, s.context)
	require.NoError(t, err)
	trainings, err := s.trainings(c)
	require.NoError(t, err)
	heldOut := c.heldOut
	for _, tr := range trainings {
		c.heldOut = heldOut[:1000] // of which run takes the mean loss at the end
		require.NoError(t, tr.run(c, s, rand.New(s.source("batches")), progress.Bar{}))
	}
	c.heldOut = heldOut
	p := gallery.Of("charmodel", picture(from, c, trainings))
	p.Timed = true
	p.Relative = 0.05 // training makes more of rounding from step to step
	gallery.Check(t, p)
}
