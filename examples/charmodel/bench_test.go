package main

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
)

// BenchmarkStep is one step of the models that the program trains.
func BenchmarkStep(b *testing.B) {
	for name, form := range testForms[float32](32) {
		b.Run("attention="+name, func(b *testing.B) {
			c, err := newCorpus(strings.Repeat(rhyme, 10), 128)
			require.NoError(b, err)
			s := defaults
			s.symbols, s.context = 91, 128
			m, err := newModel(s, form, exprand.NewSource(1))
			require.NoError(b, err)
			optimiser := newAdamW(m.parameters())
			rng := rand.New(exprand.NewSource(2))
			b.ReportAllocs()
			for b.Loop() {
				m.gradients(c.sample(4, 128, rng))
				optimiser.step(1e-3)
			}
		})
	}
}
