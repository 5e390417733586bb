package cache

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestL2(t *testing.T) {
	assert.GreaterOrEqual(t, L2, 64<<10)
	assert.LessOrEqual(t, L2, 1<<30)
	// Linux says the same where it knows the cache.
	const file = "/sys/devices/system/cpu/cpu0/cache/index2/"
	level, _ := os.ReadFile(file + "level")
	size, _ := os.ReadFile(file + "size")
	if want, ok := strings.CutSuffix(strings.TrimSpace(string(size)), "K"); ok && strings.TrimSpace(string(level)) == "2" && L2 != common {
		assert.Equal(t, "amd64", runtime.GOARCH)
		assert.Equal(t, want, strconv.Itoa(L2>>10))
	}
}
