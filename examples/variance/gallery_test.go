package main

import (
	"testing"

	"github.com/seed-feabd252/randfeat/examples/internal/gallery"
)

// TestGallery measures three maps of the softmax kernel.
func TestGallery(t *testing.T) {
	gallery.Begin(t)
	o, rows := measured(t, "-map", "SoftmaxTrig,SoftmaxPositive,SoftmaxOptimal", "-frequencies", "IID,GramSchmidt,Hadamard", "-draws", "1000")
	p := gallery.Of("variance", o.picture(rows))
	p.Relative = 1e-5 // rounding
	gallery.Check(t, p)
}
