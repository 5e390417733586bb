package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/seed-feabd252/randfeat/dense"
	"github.com/seed-feabd252/randfeat/examples/internal/matrices"
	"github.com/seed-feabd252/randfeat/performer/audit"
)

const (
	calls  = 10 // calls of the chosen attention over which audit.Choose spreads the cost of the choice
	budget = 1  // cost of the choice at most, in calls of exact attention
)

// answer chooses attention to the tolerance for every head, and writes the outputs to the file of
// -o. It returns lines with the choice and with its measured error and time.
func (c *comparison) answer() (string, error) {
	var lines []string
	out := make([]dense.Matrix[float32], len(c.heads))
	var took time.Duration
	for i, h := range c.heads {
		chosen, err := audit.Choose(context.Background(), c.options.Softmax, h.q, h.k, h.v, c.tolerance, audit.ChooseOptions{Calls: calls, Budget: budget, Reproducible: true}, source(c.seed, "within"))
		if err != nil {
			return "", err
		}
		start := time.Now()
		out[i] = chosen.Attention.Forward(dense.Matrix[float32]{}, h.q, h.k, h.v)
		took += time.Since(start)
		title := fmt.Sprintf("To %.3g %%", 100*c.tolerance)
		if len(c.heads) > 1 {
			title += fmt.Sprintf(", head %d", i+1)
		}
		lines = append(lines, fmt.Sprintf("%s: %v", title, chosen))
	}
	lines = append(lines, fmt.Sprintf("Measured on all outputs: error %.3g %%, %s ms, exact attention %s ms. The mean of all values is %.3g %% off.",
		100*matrices.Distance(out, c.exact), milliseconds(took), milliseconds(c.time), 100*matrices.Distance(c.averages(), c.exact)))
	if c.out != "" {
		if err := c.write(out); err != nil {
			return "", err
		}
		lines = append(lines, fmt.Sprintf("These outputs are in %s.", c.out))
	}
	return strings.Join(lines, "\n"), nil
}
