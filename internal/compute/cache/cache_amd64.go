//go:build !purego && !noasm

package cache

// sizeOf returns common if CPUID has no leaf for caches.
func sizeOf(level uint32, common int) int {
	for _, leaf := range []uint32{4, 0x8000001d} {
		last, _, _, _ := cpuid(leaf&0x80000000, 0)
		if last < leaf {
			continue
		}
		for i := range uint32(16) {
			kind, geometry, sets, _ := cpuid(leaf, i)
			const none, instructions = 0, 2
			if kind&31 == none {
				break
			}
			if kind&31 != instructions && kind>>5&7 == level {
				ways, partitions, line := geometry>>22+1, geometry>>12&0x3ff+1, geometry&0xfff+1
				return int(ways) * int(partitions) * int(line) * (int(sets) + 1)
			}
		}
	}
	return common
}
