package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// liveHeap returns the bytes that the program holds, without garbage.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // the memory of a pool survives one collection
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// peak returns the largest memory that the process has had, in bytes: resident memory where the
// system tells, as Linux does, and otherwise what Go has asked the system for.
func peak() uint64 {
	status, err := os.ReadFile("/proc/self/status")
	if err == nil {
		for line := range strings.SplitSeq(string(status), "\n") {
			var kibibytes uint64
			if _, err := fmt.Sscanf(line, "VmHWM: %d kB", &kibibytes); err == nil {
				return kibibytes << 10
			}
		}
	}
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.Sys
}
