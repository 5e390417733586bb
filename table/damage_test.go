package table_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/table"
)

// written returns a table of random texts, and a file of it: with quotation marks where texts need
// them or at random, and ends of lines of both kinds.
func written(rng *rand.Rand) (names []string, rows [][]string, file []string) {
	n, d := 2+rng.IntN(30), 2+rng.IntN(5)
	end := []string{"\n", "\r\n"}[rng.IntN(2)]
	line := func(cells []string) string {
		quoted := slices.Clone(cells)
		for j, text := range cells {
			if strings.ContainsAny(text, ",\"\n") || rng.IntN(10) == 0 {
				quoted[j] = `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
			}
		}
		return strings.Join(quoted, ",") + end
	}
	for j := range d {
		names = append(names, fmt.Sprintf("c%d", j))
	}
	file = append(file, line(names))
	for range n {
		row := make([]string, d)
		for j := range row {
			row[j] = []string{
				fmt.Sprint(rng.NormFloat64()), fmt.Sprint(rng.IntN(100)), "NA", "yes", "Süd, Nord", `5" pipe`, "2024-02-29", "two\nlines", "x",
			}[rng.IntN(9)]
		}
		rows = append(rows, row)
		file = append(file, line(row))
	}
	return names, rows, file
}

var place = regexp.MustCompile(`line \d+, column ("c\d+"|\d+): `)

// A thousand files with a known damage: those that mean the same table are read as that table, and
// the error of the others names the line of the damage and a column.
func TestDamagedFiles(t *testing.T) {
	harmless, harmful := 0, 0
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 1))
		names, rows, file := written(rng)
		want, err := table.New(names, rows)
		require.NoError(t, err)
		at := rng.IntN(len(file)) // the record of the damage
		line := 1 + strings.Count(strings.Join(file[:at], ""), "\n")
		end := file[at][len(strings.TrimRight(file[at], "\r\n")):]
		body := strings.TrimSuffix(file[at], end)
		bad := true
		switch kind := rng.IntN(10); kind {
		case 0:
			file[0], bad = "\ufeff"+file[0], false
		case 1:
			file[at], bad = file[at]+end+end, false
		case 2:
			file[len(file)-1], bad = strings.TrimRight(file[len(file)-1], "\r\n"), false
		case 3:
			// csv wants a comma after a quotation mark
			file[at], bad = body+" "+end, strings.HasSuffix(body, `"`)
		case 4:
			file[at] = body + ",more" + end
			line += max(0, 1-at) // the number of names tells how many values rows have
		case 5:
			file[at] = body + "\xff" + end
			if strings.HasSuffix(body, `"`) {
				file[at] = "\xff" + "," + body + end
			}
		case 6:
			file[at] = body + "," + `a"b` + end
		case 7:
			file[at] = "only one" + end
			line += max(0, 1-at)
		case 8:
			file[at] = body + `,"open` + end
		default:
			file[0], line = strings.Replace(file[0], "c1", "c0", 1), 1
		}
		got, err := table.Read(strings.NewReader(strings.Join(file, "")), table.ReadOptions{})
		if !bad {
			harmless++
			require.NoError(t, err, "seed %d", seed)
			same(t, want, got)
			continue
		}
		harmful++
		require.Error(t, err, "seed %d: %q", seed, file[at])
		assert.Regexp(t, fmt.Sprintf(`line (%d|%d[,;].* line \d+), column \d+: `, line, line), err.Error(), "seed %d: %q", seed, file[at])
	}
	assert.Greater(t, harmless, 200)
	assert.Greater(t, harmful, 400)
}

// A thousand files with one wrong byte, or cut off: the error names a line and a column, or the
// table has the shape of the true one and differs in one value, or has fewer rows if it is cut off.
// Neither the kinds of columns nor an encoding panic.
func TestWrongBytes(t *testing.T) {
	refused, kept := 0, 0
	for seed := range uint64(1000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		names, rows, file := written(rng)
		want, err := table.New(names, rows)
		require.NoError(t, err)
		data := []byte(strings.Join(file, ""))
		at, cut := len(file[0])+rng.IntN(len(data)-len(file[0])), rng.IntN(4) == 0
		switch {
		case cut:
			data = data[:at]
		case rng.IntN(2) == 0:
			data[at] = byte(rng.IntN(256))
		case rng.IntN(2) == 0:
			data = slices.Insert(data, at, ",;\"\n\r\x00 a\xff"[rng.IntN(9)])
		default:
			data = slices.Delete(data, at, at+1)
		}
		got, err := table.Read(bytes.NewReader(data), table.ReadOptions{})
		if err != nil {
			refused++
			assert.Regexp(t, `line \d+, column \d+: `, err.Error(), "seed %d", seed)
			continue
		}
		kept++
		if cut {
			require.LessOrEqual(t, got.Len(), want.Len())
		} else {
			require.Equal(t, want.Len(), got.Len(), "seed %d: %q", seed, data)
		}
		wrong := 0
		for i := range got.Len() {
			for j, text := range got.Row(i) {
				if text != want.Row(i)[j] {
					wrong++
				}
			}
		}
		require.LessOrEqual(t, wrong, 1, "seed %d: %q", seed, data)
		if _, err := got.Columns(names[:1], table.Options{}); err != nil && !strings.Contains(err.Error(), "no column of numbers") {
			assert.Regexp(t, place, err.Error())
		}
	}
	assert.Greater(t, refused, 200)
	assert.Greater(t, kept, 200)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("a,b\n1,2\n"), ',')
	f.Add([]byte("\ufeffa;\"b\"\n1,5;2\n"), ';')
	f.Fuzz(func(t *testing.T, data []byte, comma rune) {
		got, err := table.Read(bytes.NewReader(data), table.ReadOptions{Comma: comma})
		if err != nil {
			return
		}
		var rows [][]string
		for i := range got.Len() {
			rows = append(rows, got.Row(i))
		}
		again, err := table.New(got.Names(), rows)
		require.NoError(t, err)
		same(t, got, again)
		_, _ = got.Columns(got.Names()[:1], table.Options{})
	})
}
