package table

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

func missing(text string) bool {
	return slices.Contains([]string{"", "na", "n/a", "nan", "null", "?"}, strings.ToLower(text))
}

func number(text string) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v) && !strings.ContainsAny(text, "_xX")
}

func date(text string) (time.Time, bool) {
	const day = "2006-01-02"
	if len(text) < len(day) || text[4] != '-' || text[7] != '-' {
		return time.Time{}, false // without the cost of the errors of all layouts
	}
	if len(text) > len(day) && text[len(day)] == 'T' {
		text = text[:len(day)] + " " + text[len(day)+1:]
	}
	for _, clock := range []string{"", " 15:04", " 15:04:05", " 15:04Z07:00", " 15:04:05Z07:00"} {
		if at, err := time.Parse(day+clock, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

func days(at time.Time) float64 {
	return (float64(at.Unix()) + float64(at.Nanosecond())/1e9) / 86400
}

// meanOf returns the mean of finite numbers, and the standard error of the mean, which is finite
// where squares of the numbers are not.
func meanOf(x []float64) (mean, stdErr float64) {
	unit := max(floats.Norm(x, math.Inf(1)), math.SmallestNonzeroFloat64)
	scaled := make([]float64, len(x))
	for i, v := range x {
		scaled[i] = v / unit
	}
	mean, deviation := stat.PopMeanStdDev(scaled, nil)
	return unit * mean, unit * deviation / math.Sqrt(float64(max(1, len(x)-1)))
}

func wrong(line int, name, text, want string) error {
	return fmt.Errorf("table: line %d, column %q: %.40q is not %s", line, name, text, want)
}
