package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCases(t *testing.T) {
	tested := make(map[string]bool)
	for _, name := range []string{
		"product/m=3/n=5/k=2",
		"exp/n=7", "cos/n=7",
		"fwht/n=1", "fwht/n=12",
		"exact/heads=1/L=1", "exact/heads=2/L=5", "exact/h=2/L=5/d=3/m=4",
		"exact-causal/heads=1/L=3", "exact-causal/heads=3/L=2",
		"favor/h=1/L=3/d=4/m=6", "favor/heads=2/L=3",
		"favor-causal/h=2/L=3/d=4/m=6",
		"elu/h=2/L=3/d=4/m=6",
		"recurrence/rule=linear/heads=1/L=3", "recurrence/rule=gated/heads=2/L=3", "recurrence/rule=delta/heads=2/L=3",
		"recurrence/rule=gated_delta/heads=2/L=3/d=5", "recurrence/rule=gated/decay=rows/heads=2/L=3", "recurrence/rule=gated_delta/decay=rows/heads=1/L=1",
		"rbf/n=3/d=2/m=4",
		"nystroem/n=4/d=2/m=3",
		"gram/n=3/d=2",
		"inverse/n=5/d=2",
		"solve/n=5/d=2",
		"rff-ridge/n=9/d=5/D=4",
	} {
		first, _, _ := strings.Cut(name, "/")
		tested[first] = true
		for _, element := range []string{"", "/float32", "/float64"} {
			calls := strings.Fields(families[first].calls)
			if calls == nil {
				calls = []string{""}
			}
			for _, call := range calls {
				whole := strings.TrimSuffix(name+element+"/"+call, "/")
				f, err := setUp(whole)
				require.NoError(t, err, whole)
				assert.Greater(t, stopwatch{time.Now, 1}.least(f), 0.0, whole)
			}
		}
	}
	for name := range families {
		assert.True(t, tested[name], name)
	}
}

func TestCaseErrors(t *testing.T) {
	const positive = ", want a whole number from 1 on"
	for name, want := range map[string]string{
		"foo/n=3":                               `no case "foo", want one of cos, elu, exact, exact-causal, exp, favor, favor-causal, fwht, gram, inverse, nystroem, product, rbf, recurrence, rff-ridge, solve`,
		"exp":                                   `"", want key=value`,
		"exp/":                                  `"", want key=value`,
		"exp/n":                                 `"n", want key=value`,
		"exp/float64":                           `"float64", want key=value`,
		"exp/n=3/float16":                       `"float16", want key=value`,
		"exp/n=0":                               `n = "0"` + positive,
		"exp/n=-1/float64":                      `n = "-1"` + positive,
		"exp/n=1.5":                             `n = "1.5"` + positive,
		"exp/n=":                                `n = ""` + positive,
		"exp/n=99999999999999999999":            `n = "99999999999999999999"` + positive,
		"exp/n=1/n=1":                           "n is there twice",
		"exp/n=1/d=1":                           `no parameter "d"`,
		"exp/=1":                                `no parameter ""`,
		"product/m=1/n=1":                       "no size k",
		"exact/heads=1/L=0":                     `L = "0"` + positive,
		"exact/heads=1/h=1/L=1":                 "heads is there twice",
		"exact/L=1":                             "no size heads",
		"exact/heads=1/L=1/rule=linear":         `no parameter "rule"`,
		"elu-causal/heads=1/L=1":                `no case "elu-causal", want one of`,
		"recurrence/heads=1/L=1":                `rule = "", want one of [linear gated delta gated_delta]`,
		"recurrence/rule=foo/heads=1/L=1":       `rule = "foo", want one of [linear gated delta gated_delta]`,
		"recurrence/rule=linear/heads=1":        "no size L",
		"recurrence/rule=gated/heads=1/L=0":     `L = "0"` + positive,
		"fwht/n=3":                              "n = 3, want an order of Hadamard matrices up to 1073741824",
		"rbf/n=1/d=1/m=3":                       "m = 3, want an even number: a frequency has two features",
		"nystroem/n=3/d=1/m=4":                  "m = 4, want at most n = 3 landmarks",
		"inverse/n=3/d=0":                       `d = "0"` + positive,
		"solve/n=3/d=2/p=4":                     `no parameter "p"`,
		"rff-ridge/n=9/d=5/D=4":                 `"D=4" at the end, want one of [fit predict]`,
		"rff-ridge":                             `"" at the end, want one of [fit predict]`,
		"rff-ridge/fit":                         `"", want key=value`,
		"rff-ridge/n=9/d=5/D=3/fit":             "size D = 3, want an even number: a frequency has two features",
		"rff-ridge/n=9/d=4/D=4/float64/predict": "d = 4, want at least the 5 of Friedman's function",
		"favor/heads=1/L=1/m=0":                 `m = "0"` + positive,
		"gram/n=3/d=2/rows=all":                 `no parameter "rows"`,
		"recurrence/rule=gated/decay=1/h=1/L=1": `decay = "1", want rows`,
		"recurrence/rule=delta/decay=rows/h=1/L=1": "decay = rows, but rule = delta has no decay",
	} {
		f, err := setUp(name)
		assert.Nil(t, f, name)
		assert.ErrorContains(t, err, want, name)
	}
}
