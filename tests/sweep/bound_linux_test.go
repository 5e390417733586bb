package sweep_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// bounded limits the address space of the process to 8 GiB, so that a call that needs more ends the
// process at once.
func bounded(t *testing.T) {
	t.Helper()
	const most = 8 << 30
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: most, Max: most}))
}

// processorTime returns the processor time of the process.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
