package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/examples/internal/clitest"
	"github.com/seed-feabd252/randfeat/examples/internal/lm"
	"github.com/seed-feabd252/randfeat/npy"
)

// TestTable: there is a row for each head, twice, and equal weights are off as much as the table
// says.
func TestTable(t *testing.T) {
	model, text := random(t)
	out := clitest.Output(t, run, "-model", model, "-text", text, "-context", "40", "-tokens", "80", "-table", "-heads", "all")
	assert.Contains(t, out, "A sequence of 40 tokens of "+text+". Causal: ")
	assert.Contains(t, out, "\nWithout a mask: ")
	assert.Len(t, regexp.MustCompile(`(?m)^[01]\.[0-3] `).FindAllString(out, -1), 16)
	assert.Equal(t, 2, strings.Count(out, "\nworst "))
	assert.Contains(t, out, "Mean loss of 80 tokens")
	// The window of 64 holds all 40 tokens: it is exact.
	row := regexp.MustCompile(`(?m)^worst +(.*)$`).FindStringSubmatch(out)
	require.Len(t, row, 2, out)
	worst := strings.Fields(row[1])
	require.Len(t, worst, len(compared))
	assert.Equal(t, []string{"0.0", "0.0"}, worst[4:6])
	assert.NotEqual(t, "0.0", worst[7], "elu")
}

// TestSave: the files have the heads of the layers, in half precision.
func TestSave(t *testing.T) {
	model, text := random(t)
	m, err := lm.Open(model, "")
	require.NoError(t, err)
	for names, want := range map[string][]string{"": {"1.0"}, "0.3 1.1": {"0.3", "1.1"}} {
		folder := t.TempDir()
		out := clitest.Output(t, run, "-model", model, "-text", text, "-context", "40", "-tokens", "40", "-heads", names, "-save", folder)
		assert.Contains(t, out, fmt.Sprintf("%d heads over 40 tokens of %s are in %s.\n", len(want), text, folder))
		sequence, err := m.Text(text, 40, 40)
		require.NoError(t, err)
		heads, err := m.Gather(names, sequence.Batches[0].Tokens)
		require.NoError(t, err)
		q, shape, err := npy.ReadFile[float32](filepath.Join(folder, "q.npy"))
		require.NoError(t, err)
		assert.Equal(t, []int{len(want), 40, 4}, shape)
		k, _, err := npy.ReadFile[float32](filepath.Join(folder, "k.npy"))
		require.NoError(t, err)
		for i, h := range heads {
			assert.Equal(t, want[i], h.Name)
			for j := range 40 {
				at := (40*i + j) * 4
				for c := range 4 {
					// Half precision has 11 bits.
					assert.InEpsilon(t, h.Q.At(j, c), q[at+c], 0x1p-11)
					assert.InEpsilon(t, h.K.At(j, c), k[at+c], 0x1p-11)
				}
			}
		}
	}
}
