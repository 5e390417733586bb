package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
)

// noise is the standard deviation of the noise of prices, in thousands.
const noise = 20

// Districts have a probability in proportion to weight; the last five are rare.
var districts = []struct {
	name          string
	weight, price float64
}{
	{"Altstadt", 8, 60}, {"Hafen", 8, 25}, {"Bergviertel", 7, 45}, {"Nordend", 7, 10}, {"Südstadt", 7, 30}, {"Westpark", 5, 35}, {"Industrie", 4, -30},
	{"Mühle", 0.1, 20}, {"Insel", 0.1, 30}, {"Schleuse", 0.1, 10}, {"Kaserne", 0.1, 0}, {"Weinberg", 0.1, 40},
}

var heatings = []struct {
	name  string
	price float64
}{{"gas", 0}, {"oil", -20}, {"heat pump", 25}, {"district", 10}}

// Values that are missing in the file still change the price.
func writeHouses(file io.Writer, n int, src rand.Source) error {
	w := csv.NewWriter(file)
	_ = w.Write([]string{"address", "district", "east", "north", "area", "rooms", "year", "heating", "agent", "photos", "price"})
	rng := rand.New(src)
	known := func(text string, missing float64) string {
		if rng.Float64() < missing {
			return ""
		}
		return text
	}
	weights := 0.0
	for _, d := range districts {
		weights += d.weight
	}
	for i := range n {
		d, u := 0, weights*rng.Float64()
		for ; d < len(districts)-1 && u > districts[d].weight; d++ {
			u -= districts[d].weight
		}
		east, north := 20*rng.Float64()-10, 20*rng.Float64()-10
		area := math.Exp(4.6 + 0.45*rng.NormFloat64())
		rooms := max(1, math.Round(area/28+0.7*rng.NormFloat64()))
		year := 1900 + rng.IntN(125)
		h := heatings[rng.IntN(len(heatings))]
		unknown := 0.05
		if year < 1950 {
			unknown = 0.3
		}
		worth := 40 + 3*area - 0.003*area*area + districts[d].price + h.price + 3*rooms
		worth += 70 * math.Exp(-(east*east+north*north)/30)
		worth += 40 * math.Sin(float64(year-1900)/20)
		_ = w.Write([]string{
			fmt.Sprintf("%d %s %d", i+1, "Lange Straße", 1+rng.IntN(200)), districts[d].name, fmt.Sprintf("%.2f", east), fmt.Sprintf("%.2f", north),
			known(fmt.Sprintf("%.1f", area), 0.02), strconv.Itoa(int(rooms)), known(strconv.Itoa(year), unknown), known(h.name, 0.04),
			string(rune('A' + rng.IntN(6))), strconv.Itoa(rng.IntN(30)), fmt.Sprintf("%.1f", worth+noise*rng.NormFloat64()),
		})
	}
	w.Flush()
	return w.Error()
}
