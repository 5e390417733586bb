// Package bytedot writes the kernels of package bytedot. Most kernels are written once, for a
// machine of either architecture. Files that begin with avx and neon hold the rest.
package bytedot

import "github.com/seed-feabd252/randfeat/internal/_asm/kernel"

// The layout of package bytedot: a panel has 16 or 64 columns, and kernels take 16 columns at a
// time. Inner indices lie in groups of four bytes.
const (
	lanes      = 16
	groupBytes = 4
)

type machine[V, G any] interface {
	kernel.Machine[V, G]
	// vectors returns the number of vectors of sixteen elements.
	vectors() int
	// columns returns how many vectors of a panel of so many times sixteen columns a product takes
	// at a time, and how many times it does so.
	columns(sixteens int) (vectors, parts int)
	// held reports whether a product has registers for the peaks and scales of all its columns.
	held() bool
	counter(n int) G
	advanceArgument(name string, bytes int)
	// advanceTimes adds 1 or 4 times a number of bytes to an address.
	advanceTimes(p, bytes G, times int)
	// less subtracts n and jumps to the label if the result is below 0.
	less(count G, n int, label string)
	// notLess subtracts n and jumps to the label unless the result is below 0.
	notLess(count G, n int, label string)
	// none adds n and jumps to the label if the result is 0.
	none(count G, n int, label string)

	load(n int, p G) []V
	// operands is load for vectors that may stay in memory.
	operands(n int, p G) []V
	store(v []V, p G)
	// spread returns n registers with the element at p in every lane, and advances p by an element.
	spread(n int, p G) []V
	// four returns four rows, stride bytes apart, from p on. at returns an operand in row i at an
	// offset in bytes. nextFour advances the rows by four rows.
	four(p, stride G) (rows []G)
	at(rows []G, i, offset int) V
	nextFour(rows []G, stride G)

	// raise sets peak to v where v > peak.
	raise(peak, v V)
	// magnitude returns an operand without the sign bit in every element.
	magnitude() V
	// largest sets into to the larger of unsigned integers.
	largest(into, v V)
	// storeLargest writes the largest unsigned integer of v, and storeSum the sum of integers.
	storeLargest(v V, p G)
	storeSum(v V, p G)
	// first returns a vector with the element at p and zeros.
	first(p G) V
	toFloats(v V)

	// multiplier returns a function that adds the products of a group of rows of A, which leftRows
	// returns, and of columns at b to the sums of each row. nextGroup advances rows of A.
	multiplier() func(left []G, b G, sums [][]V)
	leftRows(a, row G, rows int) []G
	nextGroup(left []G, group G)
	weigher() weigher[V]
	// rowCodes returns a function that rounds sixteen elements to bytes, writes the bytes, and adds
	// them to the lanes of a sum.
	rowCodes() func(v []V, to G, sum V)
	// columnCodes returns a function that rounds vectors of four rows to bytes, puts the bytes of a
	// column side by side, and adds them to the sum of the column.
	columnCodes() func(v []V, sum V) V
	// transposed returns the columns of a square of vectors, row bytes apart, and advances from
	// behind the square. A caller stores the columns before the next call.
	transposed(from, row G) []V
	// flipper returns a function that changes the sign bit of every byte.
	flipper() func(v V)
	times(a G, n int) G
}

// weigher has the steps from scores to weights.
type weigher[V any] struct {
	thresholds  func() [2]V            // of the next four rows, two rows a vector
	differences func(a, b V) V         // rounds two vectors to integers of 16 bits
	weights     func(x, half V) V      // of differences and thresholds, as integers of 16 bits
	bytes       func(a, b V, into V) V // packs the weights of four rows and adds them to the totals
}

type writer[V, G any] struct{ machine[V, G] }

func write[V, G any](m machine[V, G]) {
	k := writer[V, G]{m}
	writeProducts("scores", "add", k)
	k.raises()
	k.weigh()
	k.spanRows()
	k.encodeRows()
	k.spanColumns()
	k.encodeColumns()
	k.transpose()
}

func writeProducts[V, G any](scoresName, addName string, k writer[V, G]) {
	for _, sixteens := range []int{1, 4} {
		k.product(scores[V, G](scoresName), sixteens)
		k.product(add[V, G](addName), sixteens)
	}
}

// bytes returns an argument that counts elements of four bytes, in bytes.
func (k writer[V, G]) bytes(name string) G {
	n := k.Argument(name)
	k.InBytes(n)
	return n
}

// raises goes down sixteen columns.
func (k writer[V, G]) raises() {
	k.Begin("raise", "(dst, y *float32, stride, rows int)", "raises 16 numbers to what is larger in rows of y.")
	dst, y, stride, rows := k.Argument("dst"), k.Argument("y"), k.bytes("stride"), k.Argument("rows")
	peaks := k.load(k.vectors(), dst)
	k.Label("row")
	for i, v := range k.load(len(peaks), y) {
		k.raise(peaks[i], v)
	}
	k.AdvanceBy(y, stride)
	k.Repeat("row", rows)
	k.store(peaks, dst)
	k.End()
}

// weigh goes down sixteen columns, four rows at a time.
func (k writer[V, G]) weigh() {
	k.Begin("weigh", "(dst *uint8, step int, totals *int32, y *float32, stride int, shifts *float32, groups int)",
		"writes the weights of 4·groups rows of 16 scores as bytes, step bytes from one group to the next, and adds them to totals.")
	dst, step, stride, groups := k.Argument("dst"), k.Argument("step"), k.bytes("stride"), k.Argument("groups")
	to, shifts := k.Argument("totals"), k.load(k.vectors(), k.Argument("shifts"))
	rows, totals := k.four(k.Argument("y"), stride), k.load(k.vectors(), to)
	w := k.weigher()
	k.Label("group")
	thresholds := w.thresholds()
	for i, total := range totals {
		var pairs [2]V
		for p := range pairs {
			x := w.differences(k.Sub(shifts[i], k.at(rows, 2*p, i*k.Width())), k.Sub(shifts[i], k.at(rows, 2*p+1, i*k.Width())))
			pairs[p] = w.weights(x, thresholds[p])
		}
		k.Store(w.bytes(pairs[0], pairs[1], total), dst, i*k.Width())
	}
	k.AdvanceBy(dst, step)
	k.nextFour(rows, stride)
	k.Repeat("group", groups)
	k.store(totals, to)
	k.End()
}
