package must_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/internal/testing/must"
)

func TestHave(t *testing.T) {
	assert.Equal(t, 3, must.Have(strconv.Atoi("3")))
	assert.Panics(t, func() { must.Have(strconv.Atoi("three")) })
}
