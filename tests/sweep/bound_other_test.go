//go:build !linux

package sweep_test

import (
	"testing"
	"time"
)

// bounded does nothing: package syscall has no bound on the address space of all systems.
func bounded(*testing.T) {}

var start = time.Now()

// processorTime is the time since the start: package syscall has no time of processors on all systems.
func processorTime() time.Duration { return time.Since(start) }
