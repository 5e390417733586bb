package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	exprand "golang.org/x/exp/rand"
	"gonum.org/v1/plot/vg"

	"github.com/seed-feabd252/randfeat/examples/internal/gallery"
)

// TestGallery fits the photograph as the program does without flags, and draws one row. The numbers
// are those of the table and of the row.
func TestGallery(t *testing.T) {
	gallery.Begin(t)
	photo, err := openPhoto("")
	if err != nil {
		t.Skip(err)
	}
	o, err := photo.fit(context.Background(), 4000, 512, exprand.NewSource(1))
	require.NoError(t, err)
	row, err := o.cut(o.height / 2)
	require.NoError(t, err)
	save := func(path string) error { return row.Save(24*vg.Centimeter, 10*vg.Centimeter, path) }
	p := gallery.Picture{Name: "regression", Save: save, Relative: 1e-3, Absolute: 1e-3} // a search for the evidence ends there
	for _, c := range o.choices {
		p.Numbers = append(p.Numbers,
			gallery.Number{Panel: c.kernel, Series: "test error", X: c.lengthScale, Y: c.error},
			gallery.Number{Panel: c.kernel, Series: "within", X: c.lengthScale, Y: c.held})
	}
	mean, sd := o.best.Predict(o.pixels(o.height / 2))
	for j := range mean.Rows {
		p.Numbers = append(p.Numbers, gallery.Number{Panel: "row", Series: "mean", X: float64(j), Y: mean.At(j, 0), Err: sd.At(j, 0)})
	}
	gallery.Check(t, p)
}
