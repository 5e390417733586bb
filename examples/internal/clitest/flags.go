package clitest

import (
	"bytes"
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-feabd252/randfeat/examples/internal/cli"
)

// absurd are values that most flags refuse, and some extreme values that some flags accept.
var absurd = []string{
	"", " ", "x", "-1", "0", "1", "-0.5", "0.5", "1e3", "1e300", "-1e300", "NaN", "Inf", "-Inf", "1099511627776", "9000000000000000000",
	"9223372036854775807", "9223372036854775808", "18446744073709551616", "-9223372036854775808", "no/such/file", "no/such/file.png",
	"/dev/null/file.png", "/",
}

var (
	described = regexp.MustCompile(`(?m)^  -(\w+).*\n\s+(.*)$`)
	ranged    = regexp.MustCompile(`a (whole )?number from (\S+) to ([^ ]+)`)
)

// Flags calls a program with absurd values for each flag: the program must refuse numbers outside
// of the range in its help in one line, and accept numbers inside. The test adds an argument that
// no program accepts, so that no program starts its computation.
func Flags(t *testing.T, run cli.Run) {
	t.Helper()
	help := Output(t, run, "-h")
	_, list, _ := strings.Cut(help, "\n\nFlags:\n")
	flags := described.FindAllStringSubmatch(list, -1)
	if len(flags) == 0 || len(flags) != strings.Count("\n"+list, "\n  -") {
		t.Fatalf("%d flags in\n%s", len(flags), list)
	}
	for _, f := range flags {
		name, about := f[1], f[2]
		number := ranged.FindStringSubmatch(about)
		for _, value := range absurd {
			var out bytes.Buffer
			err := run([]string{"-" + name + "=" + value, "stray"}, &out)
			if err == nil || out.Len() > 0 || strings.Contains(err.Error(), "\n") {
				t.Fatalf("-%s %q: error %v, output %q, want an error of one line", name, value, err, out.String())
			}
			refused := !strings.HasPrefix(err.Error(), "unexpected argument")
			if refused && (!strings.Contains(err.Error(), "flag -"+name+": ") && !strings.Contains(err.Error(), "for -"+name+": ") ||
				!strings.Contains(err.Error(), `"`+value+`"`) || !strings.Contains(err.Error(), "want ")) {
				t.Errorf("-%s %q: error %q, want the flag, the value and what the flag wants", name, value, err)
			}
			if number == nil {
				continue
			}
			low, high := parse(t, number[2]), parse(t, number[3])
			v, ok := new(big.Float).SetString(value)
			inside := ok && !v.IsInf() && v.Cmp(low) >= 0 && v.Cmp(high) <= 0 && (number[1] == "" || v.IsInt() && !strings.Contains(value, "e"))
			if inside == refused {
				t.Errorf("-%s %q: error %q, and the help says %q", name, value, err, number[0])
			}
			if refused && !strings.Contains(err.Error(), number[0]) {
				t.Errorf("-%s %q: error %q, want %q in it", name, value, err, number[0])
			}
			if name != "seed" && high.Cmp(big.NewFloat(math.MaxInt32)) > 0 {
				t.Errorf("-%s may be %v, want a number that a program can work with", name, high)
			}
		}
	}
}

func parse(t *testing.T, text string) *big.Float {
	t.Helper()
	v, ok := new(big.Float).SetString(strings.TrimRight(text, ",;"))
	if !ok {
		t.Fatalf("%q is no number", text)
	}
	return v
}
