package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
)

// TestTrained holds the model of the nested module trained to the loss that its README states, on a
// few of the held-out files. Losses of sequences differ by some 0.5.
func TestTrained(t *testing.T) {
	if _, err := os.Stat("trained/model.safetensors"); err != nil {
		t.Skip("the model is in a module of its own, which is not here")
	}
	out := clitest.Output(t, run, "-model", "trained", "-tokens", "8192", "-form", "mean", "-length", "0")
	assert.Contains(t, out, "3688704 parameters")
	var exact, mean float64
	_, after, _ := strings.Cut(out, "in sequences of 2048:\n")
	losses := strings.Split(after, "\n")
	require.Len(t, losses, 3, out)
	read(t, losses[0], &exact)
	read(t, losses[1], &mean)
	assert.InDelta(t, 2.65, exact, 0.5)
	assert.Greater(t, mean, exact+1, "attention matters")
}
