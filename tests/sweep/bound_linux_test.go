package sweep_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// bounded lets the process have 8 GiB of address space, so that a call that asks for more ends it at
// once.
func bounded(t *testing.T) {
	t.Helper()
	const most = 8 << 30
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: most, Max: most}))
}

// processorTime is the time that processors have spent in the process.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
