package densetest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/dense"
)

// Checksum returns the checksum of the bits of v.
func Checksum[T dense.Float](v []T) string {
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, v)
	return fmt.Sprintf("%08x", crc32.ChecksumIEEE(b.Bytes()))
}

// GoldenLines holds lines to those of the file at path, and returns them. With update it writes
// the file first.
func GoldenLines(t *testing.T, path string, lines []string, update bool) []string {
	if update {
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o666))
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	want := strings.Split(strings.TrimSpace(string(text)), "\n")
	require.Len(t, lines, len(want))
	for i, line := range want {
		require.True(t, line == lines[i], "%s: %.60s … is not what came out", path, line)
	}
	return want
}
