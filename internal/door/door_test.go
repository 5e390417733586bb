package door_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/seed-feabd252/randfeat/internal/door"
)

func TestChoose(t *testing.T) {
	f32 := func(args any) (any, error) { return fmt.Sprint("f32 of ", args), nil }
	f64 := func(args any) (any, error) { return nil, errors.New("f64") }
	s, err := door.Choose[float32, string](f32, f64, 7)
	assert.NoError(t, err)
	assert.Equal(t, "f32 of 7", s)
	s, err = door.Choose[float64, string](f32, f64, 7)
	assert.EqualError(t, err, "f64")
	assert.Empty(t, s)
}
