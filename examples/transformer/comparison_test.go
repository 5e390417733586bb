package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
)

// TestTable: there is a row for each head, twice, and equal weights are off as much as the table
// says.
func TestTable(t *testing.T) {
	model, text := random(t)
	out := clitest.Output(t, run, "-model", model, "-text", text, "-context", "40", "-tokens", "80", "-table")
	assert.Contains(t, out, "Causal, a sequence of 40 tokens")
	assert.Contains(t, out, "Without a mask, 16 sequences of 20 tokens together")
	assert.Len(t, regexp.MustCompile(`(?m)^[01]\.[0-3] `).FindAllString(out, -1), 16)
	assert.Equal(t, 2, strings.Count(out, "\nworst "))
	assert.Contains(t, out, "Mean loss of 80 tokens")
	// The window of 64 holds all 40 tokens: it is exact.
	row := regexp.MustCompile(`(?m)^worst +(.*)$`).FindStringSubmatch(out)
	require.Len(t, row, 2, out)
	worst := strings.Fields(row[1])
	require.Len(t, worst, len(compared)-2, "no landmarks")
	assert.Equal(t, []string{"0.0", "0.0"}, worst[4:6])
	assert.NotEqual(t, "0.0", worst[7], "elu")
}
