package digest

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
)

var update = flag.Bool("update", false, "write the digests")

// results are functions that call add with the results of a package. To test another result, call
// add with it, run the test with -update, and then run it without -update on other processors.
var results = map[string]func(t *testing.T, add func(name string, v ...any)){
	"givens":   products,
	"hadamard": rotations,
	"quantise": codes,
	"states":   statesInCodes,
	"vecmath":  sums,
}

// TestDigests fails if a result has other bits than on the processor that wrote the digests.
func TestDigests(t *testing.T) {
	for name, run := range results {
		t.Run(name, func(t *testing.T) {
			var lines []string
			run(t, func(of string, v ...any) {
				lines = append(lines, fmt.Sprintf("%s %016x", of, digest(t, v)))
			})
			path := "testdata/" + name + ".txt"
			if *update {
				require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o666))
			}
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, strings.Split(strings.TrimSpace(string(text)), "\n"), lines)
		})
	}
}

// digest returns the FNV-1a hash of the bits of numbers, bytes and slices of them.
func digest(t *testing.T, values []any) uint64 {
	h := fnv.New64a()
	word := func(v uint64) {
		for s := 0; s < 64; s += 8 {
			_, _ = h.Write([]byte{byte(v >> s)})
		}
	}
	for _, v := range values {
		switch v := v.(type) {
		case []byte:
			_, _ = h.Write(v)
		case []uint64:
			for _, x := range v {
				word(x)
			}
		case []float64:
			for _, x := range v {
				word(math.Float64bits(x))
			}
		case []float32:
			for _, x := range v {
				word(uint64(math.Float32bits(x)))
			}
		default:
			require.Failf(t, "no digest", "of a %T", v)
		}
	}
	return h.Sum64()
}

// points returns n×d numbers of 24 bits between −1 and 1.
func points[T dense.Float](seed uint64, n, d int) dense.Matrix[T] {
	x, src := dense.New[T](n, d), rand.NewPCG(seed, 1)
	for i := range x.Data {
		x.Data[i] = T(int64(src.Uint64())>>40) / (1 << 23)
	}
	return x
}
