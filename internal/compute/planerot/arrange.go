package planerot

import "slices"

// Arrange orders turns of R^d so that successive turns rarely have a common axis: a processor runs
// such turns at the same time. Turns with a common axis keep their order, so Apply and ApplyInverse
// give the same bits as before. Fewer than d/8 turns stay as they are, because they rarely have
// common axes. Arrange takes O(N) operations and O(N) memory for N turns.
//
// The level of a turn is one above the highest level of the earlier turns that share an axis with
// it.
func Arrange[T Float](d int, turns []Turn[T]) {
	if len(turns) < d/8 {
		return
	}
	above := make([]int, d) // the level above the turns of an axis
	levels := make([]int, len(turns))
	var sizes []int
	for k, g := range turns {
		level := max(above[g.I], above[g.J])
		levels[k], above[g.I], above[g.J] = level, level+1, level+1
		if level == len(sizes) {
			sizes = append(sizes, 0)
		}
		sizes[level]++
	}
	next, start := sizes, 0 // next[level] is the index of the next turn of the level
	for level, size := range sizes {
		next[level] = start
		start += size
	}
	drawn := slices.Clone(turns)
	for k, level := range levels {
		turns[next[level]] = drawn[k]
		next[level]++
	}
}
