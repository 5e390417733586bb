package rff_test

import (
	"bytes"
	"fmt"
	"log"

	exprand "golang.org/x/exp/rand"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/orf"
	"github.com/seed-feabd252/randfeat/rff"
)

// A map is kept in a file, with its frequencies.
func ExampleWrite() {
	w, err := orf.Draw[float32](orf.Hadamard{}, 256, 8, exprand.NewSource(1))
	if err != nil {
		log.Fatal(err)
	}
	m, err := rff.Draw(rff.Gaussian{LengthScale: 2}, w)
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer // or what os.Create returns
	if err := rff.Write(&file, m); err != nil {
		log.Fatal(err)
	}

	again, err := rff.Read[float32](&file)
	if err != nil {
		log.Fatal(err)
	}
	x := dense.Of(1, 8, []float32{1, 2, 3, 4, 5, 6, 7, 8})
	before, after := m.Transform(dense.Matrix[float32]{}, x), again.Transform(dense.Matrix[float32]{}, x)
	fmt.Println(again, before.At(0, 100) == after.At(0, 100))
	// Output: Gaussian(lengthScale=2): R^8 → R^512 true
}
