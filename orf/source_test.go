package orf_test

import (
	"math/rand/v2"

	exprand "golang.org/x/exp/rand"
)

// A source of golang.org/x/exp/rand goes wherever a constructor takes a source.
var _ rand.Source = exprand.Source(nil)
