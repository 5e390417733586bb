package planerot

import "slices"

// Arrange orders turns of R^d so that those which follow each other rarely have an
// axis in common: a processor runs such turns at the same time, where others wait
// for each other. Turns with a common axis keep their order, and others do not
// touch the same elements: Apply and ApplyInverse give the same bits. Fewer than
// d/8 turns stay as they are: they rarely have axes in common. It takes O(N)
// operations and as much memory for N turns.
//
// A turn goes one level above the highest of those before it that share an axis
// with it; turns of a level have no axes in common.
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
	next, start := sizes, 0 // where the next turn of a level goes
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
