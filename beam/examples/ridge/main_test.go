package main

import (
	"bytes"
	"flag"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	flag.Parse()
	beam.Init()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}

// TestRun: one machine and the pipeline have the same figures, and shards are made once. Sums of
// float32 differ by 10⁻⁷. The maximum of the evidence is flat, so the variances, which are where it
// is, differ by the square root of that, 3·10⁻⁴.
func TestRun(t *testing.T) {
	o := options{rows: 5000, shards: 7, features: 64, dir: t.TempDir(), runner: "prism"}
	var first, second bytes.Buffer
	require.NoError(t, run(t.Context(), o, &first))
	figures := 0
	for line := range strings.Lines(first.String()) {
		fields := strings.Fields(line)
		if len(fields) < 3 {
			continue
		}
		a, errA := strconv.ParseFloat(fields[len(fields)-2], 64)
		b, errB := strconv.ParseFloat(fields[len(fields)-1], 64)
		if errA != nil || errB != nil {
			continue // a line of other things, or of times
		}
		assert.InEpsilon(t, a, b, 1e-3, line)
		figures++
	}
	assert.Equal(t, 4, figures, first.String())
	shard := filepath.Join(o.dir, "5000-003-of-7.x.npy")
	before, err := os.Stat(shard)
	require.NoError(t, err)
	require.NoError(t, run(t.Context(), o, &second))
	after, err := os.Stat(shard)
	require.NoError(t, err)
	assert.Equal(t, before.ModTime(), after.ModTime())
	assert.FileExists(t, filepath.Join(o.dir, "model.safetensors"))
}

func TestRunErrors(t *testing.T) {
	assert.ErrorContains(t, run(t.Context(), options{rows: 3, shards: 5, features: 64}, nil), "-rows 3 -shards 5 -features 64: want from 1 to 10000000 rows a shard")
	o := options{rows: 50, shards: 5, features: 64, dir: filepath.Join(t.TempDir(), "none"), runner: "prism"}
	assert.ErrorContains(t, run(t.Context(), o, nil), "none")
}
