package amd64

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	function = regexp.MustCompile(`^TEXT ·(\w+)\(`)
	beyond   = regexp.MustCompile(`\b(Z\d+|[XY](1[6-9]|2\d|3[01])|K[0-7])\b`)
)

// CheckTiers returns an error for a function that needs AVX-512 and does not say so in its name.
// The allocator knows all 32 registers: a function that runs out of the 16 of AVX2 gets others
// without a word, and is an illegal instruction where there is no AVX-512.
func CheckTiers(assembly string) error {
	requires := ""
	name := ""
	for i, line := range strings.Split(assembly, "\n") {
		if m := function.FindStringSubmatch(line); m != nil {
			name = m[1]
			if !wide(name) && strings.Contains(requires, "AVX512") {
				return fmt.Errorf("line %d: %s: %s", i+1, name, requires)
			}
			requires = ""
			continue
		}
		if strings.HasPrefix(line, "// Requires: ") {
			requires = line
		}
		if strings.HasPrefix(line, "\t") && !wide(name) && beyond.MatchString(line) {
			return fmt.Errorf("line %d: %s has %s", i+1, name, strings.TrimSpace(line))
		}
	}
	return nil
}

func wide(name string) bool { return strings.Contains(name, "AVX512") }
