package ridge_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/dense/gonum"
	"github.com/seed-feabd252/randfeat/internal/testing/densetest"
	"github.com/seed-feabd252/randfeat/internal/testing/must"
	"github.com/seed-feabd252/randfeat/ridge"
)

// array returns a file of NumPy's with the given type, shape and elements.
func array(descr, shape string, elements any) []byte {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape)
	header += strings.Repeat(" ", 63-(len(header)+10)%64) + "\n"
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	_ = binary.Write(&b, binary.LittleEndian, uint16(len(header)))
	b.WriteString(header)
	var order binary.ByteOrder = binary.LittleEndian
	if descr[0] == '>' {
		order = binary.BigEndian
	}
	_ = binary.Write(&b, order, elements)
	return b.Bytes()
}

func put(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

// Rows in memory, in a matrix of gonum's, in .npy and in CSV are the same rows, in several blocks.
func TestRowsAreTheSame(t *testing.T) {
	densetest.Both(t, testRows[float32], testRows[float64])
}

func testRows[T dense.Float](t *testing.T) {
	const n, d = 10000, 3
	x, y := friedman[float64](n, 5, 1)
	x = x.ColRange(0, d).Clone()
	weights := make([]float32, n)
	var text strings.Builder
	text.WriteString("a,y,b,c\n")
	for i := range n {
		weights[i] = 1
		r := x.Row(i)
		fmt.Fprintf(&text, "%v,%v, %v,%v\n", r[0], y.At(i, 0), r[1], r[2])
	}
	xs := put(t, "x.npy", array("<f8", "10000, 3", x.Data))
	want := read[T](t, ridge.Block[T]{X: dense.Copy(dense.Matrix[T]{}, x), Y: dense.Copy(dense.Matrix[T]{}, y)})
	m := mat.NewDense(n, d, x.Data)
	assert.Equal(t, want, read[T](t, ridge.Block[T]{X: gonum.FromMat[T](m), Y: dense.Copy(dense.Matrix[T]{}, y)}))
	assert.Equal(t, want, read[T](t, ridge.NPY[T]{X: xs, Y: put(t, "y.npy", array(">f8", "10000,", y.Data))}))
	assert.Equal(t, want, read[T](t, ridge.CSV[T]{Path: put(t, "rows.csv", []byte(text.String())), Targets: []int{1}, Header: true}))

	weighed := ridge.NPY[T]{X: xs, Y: put(t, "y.npy", array("<f8", "10000, 1", y.Data)), Weights: put(t, "w.npy", array("<f4", "10000,", weights))}
	assert.Equal(t, want, read[T](t, weighed))
	for b := range weighed.Blocks() {
		assert.Len(t, b.Weights, b.X.Rows)
		break
	}
	assert.Len(t, want, 2*2+4*n)
}

// read returns the sizes and elements of all blocks, which it reads twice.
func read[T dense.Float](t *testing.T, rows ridge.Rows[T]) []T {
	var passes [2][]T
	for i := range passes {
		for b, err := range rows.Blocks() {
			require.NoError(t, err)
			passes[i] = append(passes[i], T(b.X.Rows), T(b.X.Cols))
			for l := range b.X.Rows {
				passes[i] = append(append(passes[i], b.X.Row(l)...), b.Y.Row(l)...)
			}
		}
	}
	require.Equal(t, passes[0], passes[1])
	return passes[0]
}

// Points in Fortran order, as tables of pandas have them, and whole numbers as labels and weights
// are read in blocks.
func TestNPYOfOthers(t *testing.T) {
	const n = 10000
	columns, labels, weights := make([]float64, 3*n), make([]int8, n), make([]uint16, n)
	for i := range n {
		for j := range 3 {
			columns[j*n+i] = float64(3*i + j)
		}
		labels[i], weights[i] = int8(i%3-1), uint16(i)
	}
	x := array("<f8", "10000, 3", columns)
	rows := ridge.NPY[float64]{
		X:       put(t, "x.npy", bytes.Replace(x, []byte("False"), []byte("True "), 1)),
		Y:       put(t, "y.npy", array("|i1", "10000,", labels)),
		Weights: put(t, "w.npy", array(">u2", "10000,", weights)),
	}
	at := 0
	for b, err := range rows.Blocks() {
		require.NoError(t, err)
		for i := range b.X.Rows {
			require.Equal(t, []float64{float64(3 * at), float64(3*at + 1), float64(3*at + 2)}, b.X.Row(i))
			require.Equal(t, []float64{float64(at%3 - 1), float64(at)}, []float64{b.Y.At(i, 0), b.Weights[i]})
			at++
		}
	}
	assert.Equal(t, n, at)
}

// Blocks of files with many columns have at most 2²⁰ numbers, so that a fit notices the end of its
// context soon.
func TestBlocksOfManyColumns(t *testing.T) {
	const n, d = 1100, 1023
	numbers := make([]float32, n*d)
	var text strings.Builder
	for i := range numbers {
		numbers[i] = float32(i % 7)
		text.WriteString(strconv.Itoa(i % 7))
		text.WriteByte(" ,"[min(1, (i+1)%d)])
		if (i+1)%d == 0 {
			text.WriteString(",1\n")
		}
	}
	x := put(t, "x.npy", array("<f4", fmt.Sprintf("%d, %d", n, d), numbers))
	y := put(t, "y.npy", array("<f4", fmt.Sprintf("%d,", n), make([]float32, n)))
	for _, rows := range []ridge.Rows[float32]{
		ridge.NPY[float32]{X: x, Y: y}, ridge.CSV[float32]{Path: put(t, "x.csv", []byte(text.String()))},
	} {
		var sizes []int
		var all []float32
		for b, err := range rows.Blocks() {
			require.NoError(t, err)
			sizes = append(sizes, b.X.Rows)
			assert.Equal(t, b.X.Rows, b.Y.Rows)
			for i := range b.X.Rows {
				all = append(all, b.X.Row(i)...)
			}
		}
		assert.Equal(t, []int{1024, n - 1024}, sizes)
		assert.Equal(t, numbers, all)
	}
}

//ci:portable
func TestCSVDefaults(t *testing.T) {
	path := put(t, "rows.csv", []byte("1;2;3\n4;5;6\n"))
	for b, err := range (ridge.CSV[float64]{Path: path, Comma: ';'}).Blocks() {
		require.NoError(t, err)
		assert.Equal(t, dense.Of(2, 2, []float64{1, 2, 4, 5}), b.X)
		assert.Equal(t, dense.Of(2, 1, []float64{3, 6}), b.Y)
	}
	for b, err := range (ridge.CSV[float64]{Path: path, Comma: ';', Targets: []int{2, 0}}).Blocks() {
		require.NoError(t, err)
		assert.Equal(t, dense.Of(2, 2, []float64{3, 1, 6, 4}), b.Y)
	}
}

// Numbers as other programs write them are read, or refused with their line and column.
//
//ci:portable
func TestCSVOfOthers(t *testing.T) {
	for _, c := range []struct {
		name, text string
		comma      rune
		header     bool
		want       string // the error, "" for the rows 1 2 3 and 4 5 6
	}{
		{"plain", "1,2,3\n4,5,6", 0, false, ""},
		{"blanks after a comma", "1, 2,  3\n 4,\t5, 6\n", 0, false, ""},
		{"blanks before a comma", "1 ,2\t,3  \n4  ,5 ,6\t\n", 0, false, ""},
		{"no-break spaces", "1\u00a0,2,3\n4,5,\u00a06\n", 0, false, ""},
		{"CRLF", "1,2,3\r\n4,5,6\r\n", 0, false, ""},
		{"CRLF without the last", "1,2,3\r\n4,5,6\r", 0, false, ""},
		{"blanks before CRLF", "1,2,3 \r\n4,5,6 \r\n", 0, false, ""},
		{"byte order mark", "\ufeff1,2,3\n4,5,6\n", 0, false, ""},
		{"byte order mark and names in quotes", "\ufeff\"a, b\",b,c\n1,2,3\n4,5,6\n", 0, true, ""},
		{"byte order mark and names", "\ufeffa,b,c\r\n1,2,3\r\n4,5,6\r\n", 0, true, ""},
		{"names in quotes", "\"a, or\nb\",\"b\"\"\",c\n1,2,3\n4,5,6\n", 0, true, ""},
		{"empty lines", "\n1,2,3\n\n4,5,6\n\n\r\n\n", 0, false, ""},
		{"lines of blanks", "  \n1,2,3\n\t\n4,5,6\n   \n \r\n ", 0, false, ""},
		{"lines of blanks before names", "  \na,b,c\n1,2,3\n4,5,6\n", 0, true, ""},
		{"quotes", "\"1\",\"2\", \"3\"\n\" 4\",5,\"6 \"\n", 0, false, ""},
		{"signs and exponents", "+1,2e0,.3e1\n4.,0.5E+1,600e-2\n", 0, false, ""},
		{"tabs", "1\t2\t3\n4\t 5 \t6\n", '\t', false, ""},
		{"blanks alone", "1 2 3\n  4   5  6\n", ' ', false, ""},

		{"nothing between commas", "1,2,3\n4,,6\n", 0, false, `line 2, column 2: "" is not a number`},
		{"a blank between commas", "1,2,3\n4, ,6\n", 0, false, `line 2, column 2: "" is not a number`},
		{"nothing between tabs", "1\t\t3\n4\t\t6\n", '\t', false, `line 1, column 2: "" is not a number`},
		{"nothing before a tab", "\t2\t3\n\t5\t6\n", '\t', false, `line 1, column 1: "" is not a number`},
		{"a comma at the end", "1,2,3,\n4,5,6,\n", 0, false, `line 1, column 4: "" is not a number`},
		{"a decimal comma", "1;2,5;3\n", ';', false, `line 1, column 2: "2,5" is not a number`},
		{"digits in groups", "1,\"2,000\",3\n", 0, false, `line 1, column 2: "2,000" is not a number`},
		{"a blank in a number", "1,2 0,3\n", 0, false, `line 1, column 2: "2 0" is not a number`},
		{"text", "1,2,3\n4,n/a,6\n", 0, false, `line 2, column 2: "n/a" is not a number`},
		{"names", "a,b,c\n1,2,3\n", 0, false, `line 1, column 1: "a" is not a number`},
		{"beyond float64", "1,2,3\n4,-1e400,6\n", 0, false, `line 2, column 2: "-1e400" is beyond float64`},
		{"UTF-16", "\xff\xfe1\x00,\x002\x00\n", 0, false, `line 1, column 1: "\xff\xfe1\x00" is not a number`},
		{"a quote within", "1,2,3\n4,5\"5,6\n", 0, false, `line 2, column 4: bare " in non-quoted`},
		{"fewer columns", "1,2,3\n\n4,5\n", 0, false, `line 3: 2 columns, want 3`},
		{"more columns than names", "a,b\n1,2,3\n", 0, true, `line 2: 3 columns, want 2`},
		{"names alone", "a,b,c\n", 0, true, `no rows`},
		{"no names", "", 0, true, `no rows`},
	} {
		t.Run(c.name, func(t *testing.T) {
			rows := ridge.CSV[float64]{Path: put(t, "rows.csv", []byte(c.text)), Comma: c.comma, Header: c.header}
			var all []float64
			var failed error
			for b, err := range rows.Blocks() {
				if failed = err; err == nil {
					for i := range b.X.Rows {
						all = append(append(all, b.X.Row(i)...), b.Y.Row(i)...)
					}
				}
			}
			switch c.want {
			case "":
				require.NoError(t, failed)
				assert.Equal(t, []float64{1, 2, 3, 4, 5, 6}, all)
			case "no rows":
				require.NoError(t, failed)
				assert.Empty(t, all)
			default:
				require.Error(t, failed)
				assert.Regexp(t, `^ridge: .*rows\.csv: `, failed.Error())
				assert.ErrorContains(t, failed, c.want)
			}
		})
	}
	for b, err := range (ridge.CSV[float64]{Path: put(t, "rows.csv", []byte("nan,inf,NaN\n-Inf,Infinity,+inf\n"))}).Blocks() {
		require.NoError(t, err)
		inf := math.Inf(1)
		assert.True(t, math.IsNaN(b.X.At(0, 0)) && math.IsNaN(b.Y.At(0, 0)))
		assert.Equal(t, []float64{inf, -inf, inf, inf}, []float64{b.X.At(0, 1), b.X.At(1, 0), b.X.At(1, 1), b.Y.At(1, 0)})
	}
}

// Numbers are rounded once: midpoints of T are ties, and 17 digits are beside them.
func testCSVRounding[T dense.Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var text strings.Builder
	var want []T
	add := func(number string) {
		exact, _, err := big.ParseFloat(number, 10, 400, big.ToNearestEven)
		require.NoError(t, err)
		once, _ := exact.Float64()
		if densetest.Roundoff[T]() == 0x1p-24 {
			single, _ := exact.Float32()
			once = float64(single)
		}
		fmt.Fprintf(&text, "%s\n", number)
		want = append(want, T(once))
	}
	for range 1000 {
		low := math.Float32frombits(rng.Uint32N(0x7f000000))
		middle := (float64(low) + float64(math.Nextafter32(low, 1e38))) / 2
		add(fmt.Sprintf("%.17g", middle))
		add(strings.Replace(fmt.Sprintf("%.60e", middle), "e", "1e", 1))
	}
	for _, number := range []string{"3.4028235677973366e38", "-3.4028235e38", "1e-46", "7.0064923216240853546186479164496e-46", "1e-400"} {
		add(number)
	}
	rows := ridge.CSV[T]{Path: put(t, "rows.csv", []byte(text.String())), Targets: []int{}}
	for b, err := range rows.Blocks() {
		require.NoError(t, err)
		for i := range b.X.Rows {
			require.Equal(t, want[0], b.X.At(i, 0))
			want = want[1:]
		}
	}
}

func TestCSVRounding(t *testing.T) {
	densetest.Both(t, testCSVRounding[float32], testCSVRounding[float64])
	rows := ridge.CSV[float32]{Path: put(t, "rows.csv", []byte("1,2\n3,1e39\n"))}
	for _, err := range rows.Blocks() {
		assert.ErrorContains(t, err, `line 2, column 2: "1e39" is beyond float32`)
	}
}

//ci:portable
func TestFileErrors(t *testing.T) {
	phi := gaussian[float64](t, 4, 2, 1, 1)
	fail := func(rows ridge.Rows[float64], want ...string) {
		t.Helper()
		_, err := ridge.Sum(context.Background(), phi, rows)
		for _, w := range want {
			assert.ErrorContains(t, err, w)
		}
	}
	csv := func(text string) ridge.CSV[float64] {
		return ridge.CSV[float64]{Path: put(t, "rows.csv", []byte(text))}
	}
	fail(ridge.CSV[float64]{Path: "none.csv"}, "ridge: none.csv: no such file")
	fail(csv(""), "ridge: no rows")
	for _, text := range []string{"1_0", "0x1p4", "0X1P4", ""} {
		fail(csv("1,2,3\n"+text+",2,3\n"), fmt.Sprintf("rows.csv: line 2, column 1: %q is not a number", text))
	}
	fail(csv("1\n"), "1 columns and 1 targets")
	// a line of one column is no line of blanks
	for _, text := range []string{"1\n\"\"\n3\n", "1\n \n3\n"} {
		one := csv(text)
		one.Targets = []int{}
		fail(one, `line 2, column 1: "" is not a number`)
	}
	fail(csv("1,2,3\nNaN,2,3\n"), "ridge: x[1][0] = NaN")
	fail(csv(strings.Repeat("1,2,3\n", 8161)+"4,NaN,3\n"), "ridge: x[1][1] = NaN", "(in the block that begins with row 8160)")
	bad := csv("1,2,3\n")
	bad.Targets = []int{1, 1}
	fail(bad, "targets [1 1], want different columns of the 3")
	bad.Targets = []int{3}
	fail(bad, "targets [3], want different columns of the 3")

	x, y := put(t, "x.npy", array("<f8", "2, 2", make([]float64, 4))), put(t, "y.npy", array("<f8", "2,", make([]float64, 2)))
	fail(ridge.NPY[float64]{X: "none.npy", Y: y}, "ridge: open none.npy")
	fail(ridge.NPY[float64]{Y: y}, "ridge: open")
	fail(ridge.NPY[float64]{X: x, Y: put(t, "y.npy", array("<f8", "3,", make([]float64, 3)))}, "y.npy has 3 rows, want the 2 of")
	fail(ridge.NPY[float64]{X: x, Y: y, Weights: x}, "has 2 columns, want 1")
	fail(ridge.NPY[float64]{X: x, Y: put(t, "y.npy", array("<c8", "2,", make([]complex64, 2)))}, "y.npy: dtype \"<c8\"", "want floats")
	fail(ridge.NPY[float64]{X: x, Y: put(t, "y.npy", array("<i8", "2,", []int64{1, 1<<53 + 1}))}, "y.npy: npy: row 1, column 0: int64 9007199254740993 is not exact in float64")
	fail(ridge.NPY[float64]{X: put(t, "x.npy", array("<f8", "0, 2", []float64{}))}, "ridge: no rows")
	fail(ridge.NPY[float64]{X: put(t, "x.npy", array("<f8", "2, 0", []float64{}))}, "ridge: x is 2×0, want 2 columns")
}

// Texts of the target column are classes; the labels are sorted.
func TestLabels(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rows.csv")
	require.NoError(t, os.WriteFile(path, []byte("x,kind\n1, pear\n2,apple\n3,\"pear \"\n4,fig\n"), 0o600))
	rows := ridge.CSV[float64]{Path: path, Header: true}
	labels := must.Have(rows.ReadLabels())
	assert.Equal(t, []string{"apple", "fig", "pear"}, labels)
	rows.Labels = labels
	for b, err := range rows.Blocks() {
		require.NoError(t, err)
		assert.Equal(t, []float64{2, 0, 2, 1}, b.Y.Data)
		assert.Equal(t, []float64{1, 2, 3, 4}, b.X.Data)
	}
	rows.Labels = labels[1:]
	for _, err := range rows.Blocks() {
		assert.ErrorContains(t, err, `line 3, column 2: "apple" is none of the 2 labels`)
	}
	require.NoError(t, os.WriteFile(path, []byte("x,kind\n1,pear\n2, \n3,\"\"\n"), 0o600))
	for _, rows.Labels = range [][]string{labels, {"", "pear"}} {
		for _, err := range rows.Blocks() {
			assert.ErrorContains(t, err, "line 3, column 2: the label is blank")
		}
	}
	_, err := rows.ReadLabels()
	assert.ErrorContains(t, err, "rows.csv: line 3, column 2: the label is blank")
	rows.Path = path + "x"
	_, err = rows.ReadLabels()
	assert.ErrorContains(t, err, "rows.csvx")
}

// countdown is a context that ends at a given look at it.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// The end of a context is no fault of a block.
func TestEndOfContextNamesNoBlock(t *testing.T) {
	b := sloping(0.3)
	_, err := ridge.Sum(&countdown{t.Context(), 50}, gaussian[float32](t, 8, 3, 0.3, 1), b)
	assert.Equal(t, context.Canceled, err, "in the second of eight blocks")
}
