package cache

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCrowded(t *testing.T) {
	for _, x := range []struct {
		rows, stride int
		want         bool
	}{
		{9, 4096, true}, {8, 4096, false}, {9, 3 * 4096, true}, {9, 0, true},
		{17, 2048, true}, {16, 2048, false}, {17, 3 * 2048, true}, {12, 2048 + 64, false},
		{512, 64, false}, {513, 64, true}, {512, 4, false}, {512, 4096 + 64, false},
	} {
		assert.Equal(t, x.want, Crowded(x.rows, x.stride), "%+v", x)
	}
}

func TestSizes(t *testing.T) {
	assert.GreaterOrEqual(t, L1, 8<<10)
	assert.GreaterOrEqual(t, L2, 64<<10)
	assert.Less(t, L1, L2)
	assert.LessOrEqual(t, L2, 1<<30)
	// Linux says the same where the processor tells: index 0 is the first cache for data.
	if sizeOf(1, -1) < 0 || sizeOf(2, -1) < 0 {
		return
	}
	assert.Equal(t, "amd64", runtime.GOARCH)
	for index, bytes := range map[string]int{"0": L1, "2": L2} {
		size, err := os.ReadFile("/sys/devices/system/cpu/cpu0/cache/index" + index + "/size")
		if want, ok := strings.CutSuffix(strings.TrimSpace(string(size)), "K"); err == nil && ok {
			assert.Equal(t, want, strconv.Itoa(bytes>>10))
		}
	}
}
