// Package allocs counts allocations of calls that keep their memory in pools.
package allocs

import "runtime"

// Settled returns how often three calls of f allocate when they have settled: pools fill up while
// calls meet other processors than before. Settled runs f on the given number of processors, which
// testing.AllocsPerRun would reduce to one. Tests that need 0 leave it out under the race detector.
func Settled(processors int, f func()) uint64 {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
	var before, after runtime.MemStats
	for range 100 {
		runtime.ReadMemStats(&before)
		for range 3 {
			f()
		}
		runtime.ReadMemStats(&after)
		if after.Mallocs == before.Mallocs {
			return 0
		}
	}
	return after.Mallocs - before.Mallocs
}
