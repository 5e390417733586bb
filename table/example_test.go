package table_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"math/rand/v2"
	"strings"

	"github.com/seed-feabd252/randfeat/table"
)

// The prices of houses by area and district. The model in the file predicts raw rows.
func Example() {
	rng, text := rand.New(rand.NewPCG(1, 2)), "area,district,price\n"
	for range 80 {
		area, district := 50+100*rng.Float64(), rng.IntN(3)
		text += fmt.Sprintf("%.0f,%s,%.1f\n", area, []string{"east", "north", "south"}[district], 3*area+40*float64(district)+rng.NormFloat64())
	}
	t, err := table.Read(strings.NewReader(text), table.ReadOptions{})
	if err != nil {
		log.Fatal(err)
	}
	m, err := table.Fit(context.Background(), t, []string{"price"}, table.Options{}, rand.NewPCG(3, 4))
	if err != nil {
		log.Fatal(err)
	}
	var file bytes.Buffer
	if err := m.Write(&file); err != nil {
		log.Fatal(err)
	}

	served, err := table.ReadModel(&file)
	if err != nil {
		log.Fatal(err)
	}
	raw, err := table.New([]string{"district", "area"}, [][]string{{"south", "100"}, {"east", "NA"}})
	if err != nil {
		log.Fatal(err)
	}
	p, err := served.Predict(raw, 0.05, 0.95)
	if err != nil {
		log.Fatal(err)
	}
	price := p.Numbers["price"]
	fmt.Printf("%.0f, from %.0f to %.0f\n", price.Mean[0], price.Quantiles[0][0], price.Quantiles[1][0])
	// Output: 380, from 378 to 383
}
