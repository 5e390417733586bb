package fwht

import "fmt"

// Signatures and comments of kernels that each architecture writes on its own.
const (
	signatureOfSums  = "(y *T, stride int, groups *T, terms *uint16, n, count int)"
	docOfSums        = "writes the first vectors of 4·count rows of y, stride elements apart, each the sum of the n vectors of groups that its terms number, in their order."
	signatureOfTimes = "(dst, x, f *T, count int)"
	docOfTimes       = "writes the products of count vectors of x and f into dst."
)

// beginCombine begins the kernel that writes, for each of count groups of four rows, the eight
// combinations of their first vectors and the negatives of those.
func (k writer[V, G]) beginCombine() (groups, x, stride, count G) {
	k.Begin("combine", "(groups, x *T, stride, count int)",
		"writes the 16 combinations of the first vectors of each of count groups of four rows of x, stride elements apart, into groups.")
	groups, x, stride, count = k.Argument("groups"), k.Argument("x"), k.Argument("stride"), k.Argument("count")
	k.InBytes(stride)
	return groups, x, stride, count
}

// combinations returns the sums and differences of four rows in the order of the reference.
func (k writer[V, G]) combinations(load func(i int) V) []V {
	both := func(a, b V) []V { return []V{k.Add(a, b), k.Sub(a, b)} }
	p := both(load(0), load(1))
	r := both(load(2), load(3))
	var c []V
	for _, a := range p {
		for _, b := range r {
			c = append(c, both(a, b)...)
		}
	}
	return c
}

// inRegisters is the number of groups of four whose combinations fit the registers.
const inRegisters = 3

// core writes the core of order h, whose terms are numbered as in package fwht. The combinations of
// a few groups at a time are in registers, and the sums over the groups before are in a buffer.
func (k writer[V, G]) core(h int, terms []uint16) {
	k.Begin(fmt.Sprintf("core%d", h), "(x *T, stride, columns int, sums *T)",
		fmt.Sprintf("applies the core of order %[1]d to the first columns of %[1]d rows of x, stride elements apart; sums has room for a vector a row.", h))
	x, stride, columns, sums := k.Argument("x"), k.Argument("stride"), k.Argument("columns"), k.Argument("sums")
	k.InBytes(stride)
	k.InBytes(columns)
	walk := k.walk(stride)
	_, negated := k.differences()

	k.Label("column")
	k.columns(columns)
	n := h / 4
	input := walk(k.CopyOf(x))
	for from := 0; from < n; from += inRegisters {
		to := min(from+inRegisters, n)
		groups := map[int][]V{}
		for g := from; g < to; g++ {
			groups[g] = k.combinations(input.load)
			input.next()
		}
		output := walk(k.CopyOf(x))
		for i := range h {
			// term returns the combination of a group in row i, and whether it is subtracted.
			term := func(g int) (V, bool) {
				kind := terms[i*n+g] % 16
				return groups[g][kind%8], kind >= 8
			}
			var acc V
			start := from
			if from > 0 {
				acc = k.Load(sums, i*k.Width())
			} else {
				a, minusA := term(0)
				b, minusB := term(1)
				switch {
				case minusA && minusB:
					acc = negated(a, b)
				case minusA:
					acc = k.Sub(b, a)
				case minusB:
					acc = k.Sub(a, b)
				default:
					acc = k.Add(a, b)
				}
				start = 2
			}
			for g := start; g < to; g++ {
				if v, minus := term(g); minus {
					k.Sub(acc, v, acc)
				} else {
					k.Add(acc, v, acc)
				}
			}
			if to < n {
				k.Store(acc, sums, i*k.Width())
				continue
			}
			output.store(acc, i%4)
			if i%4 == 3 {
				output.next()
			}
		}
	}
	k.Advance(x, k.Width())
	k.RepeatBy("column", columns, k.Width())
	k.End()
}
