//go:build !linux

package sweep_test

import (
	"testing"
	"time"
)

// bounded does nothing, because package syscall cannot limit the address space on all systems.
func bounded(*testing.T) {}

var start = time.Now()

// processorTime returns the time since the start, because package syscall has no processor time on
// all systems.
func processorTime() time.Duration { return time.Since(start) }
