package bytedot

import "fmt"

func (k writer[V, G]) spanRows() {
	k.Begin("spanRows", "(dst *uint32, x *float32, stride, rows, sixteens int)",
		"raises each of dst to the bits of the largest |x[j]| of a row of 16·sixteens elements.")
	dst, x, stride, rows := k.Argument("dst"), k.Argument("x"), k.bytes("stride"), k.Argument("rows")
	mask := k.magnitude()
	k.Label("row")
	row, left, most := k.CopyOf(x), k.Argument("sixteens"), k.first(dst)
	k.Label("sixteen")
	for _, v := range k.load(k.vectors(), row) {
		k.largest(most, k.And(v, mask, v))
	}
	k.Advance(row, 4*lanes)
	k.Repeat("sixteen", left)
	k.storeLargest(most, dst)
	k.Advance(dst, 4)
	k.AdvanceBy(x, stride)
	k.Repeat("row", rows)
	k.End()
}

func (k writer[V, G]) encodeRows() {
	k.Begin("encodeRows", "(dst *int8, step int, sums *int32, x *float32, stride int, factors *float32, rows, sixteens int)",
		"writes x·factor rounded to bytes for rows of 16·sixteens elements, and adds the bytes of a row to its sum.")
	dst, step, sums := k.Argument("dst"), k.Argument("step"), k.Argument("sums")
	x, stride, factors, rows := k.Argument("x"), k.bytes("stride"), k.Argument("factors"), k.Argument("rows")
	encode := k.rowCodes()
	k.Label("row")
	row, to, left := k.CopyOf(x), k.CopyOf(dst), k.Argument("sixteens")
	factor, sum := k.spread(1, factors)[0], k.first(sums)
	k.Label("sixteen")
	v := k.load(k.vectors(), row)
	for _, v := range v {
		k.Mul(v, factor, v)
	}
	encode(v, to, sum)
	k.Advance(row, 4*lanes)
	k.Advance(to, lanes)
	k.Repeat("sixteen", left)
	k.storeSum(sum, sums)
	k.Advance(sums, 4)
	k.AdvanceBy(dst, step)
	k.AdvanceBy(x, stride)
	k.Repeat("row", rows)
	k.End()
}

func (k writer[V, G]) spanColumns() {
	k.Begin("spanColumns", "(dst *uint32, x *float32, stride, rows int)", "raises the 16 of dst to the bits of the largest |x| of a column.")
	dst, x, stride, rows := k.Argument("dst"), k.Argument("x"), k.bytes("stride"), k.Argument("rows")
	mask, most := k.magnitude(), k.load(k.vectors(), dst)
	k.Label("row")
	for i, v := range k.load(len(most), x) {
		k.largest(most[i], k.And(v, mask, v))
	}
	k.AdvanceBy(x, stride)
	k.Repeat("row", rows)
	k.store(most, dst)
	k.End()
}

func (k writer[V, G]) encodeColumns() {
	k.Begin("encodeColumns", "(dst *int8, sums *int32, x *float32, stride int, factors *float32, groups int)",
		"writes x·factor rounded to bytes for 4·groups rows of 16 elements, four bytes of a column side by side, and adds the bytes of a column to its sum.")
	dst, to, stride, groups := k.Argument("dst"), k.Argument("sums"), k.bytes("stride"), k.Argument("groups")
	rows := k.four(k.Argument("x"), stride)
	sums, factors := k.load(k.vectors(), to), k.load(k.vectors(), k.Argument("factors"))
	encode := k.columnCodes()
	k.Label("group")
	for i, sum := range sums {
		var v []V
		for r := range 4 {
			v = append(v, k.Mul(factors[i], k.at(rows, r, i*k.Width())))
		}
		k.Store(encode(v, sum), dst, i*k.Width())
	}
	k.Advance(dst, lanes*groupBytes)
	k.nextFour(rows, stride)
	k.Repeat("group", groups)
	k.store(sums, to)
	k.End()
}

// transpose takes as many rows at a time as a vector has groups of four bytes, and as many groups.
func (k writer[V, G]) transpose() {
	k.Begin("transpose", "(dst *uint8, step int, codes *int8, row, groups int)",
		"writes the groups of four bytes of 16 rows, plus 128, those at the same place side by side and step bytes from one place to the next. It may read up to 63 bytes behind a row.")
	step, row, flip := k.Argument("step"), k.Argument("row"), k.flipper()
	for part := range k.vectors() {
		label := fmt.Sprintf("part%d", part)
		dst, codes, left := k.Argument("dst"), k.Argument("codes"), k.Argument("groups")
		if part > 0 {
			k.Advance(dst, part*k.Width())
			k.AdvanceBy(codes, k.times(row, part*k.Lanes()))
		}
		k.Label(label)
		for _, v := range k.transposed(k.CopyOf(codes), row) {
			flip(v)
			k.Store(v, dst, 0)
			k.AdvanceBy(dst, step)
			k.CountDown(left, label+"Done")
		}
		k.Advance(codes, k.Width())
		k.Jump(label)
		k.Label(label + "Done")
	}
	k.End()
}
