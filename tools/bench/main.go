// Command bench prints times of a peer, such as NumPy or PyTorch, beside times of this library for
// the same computations:
//
//	python3 peer.py > peer.txt
//	go run ./tools/bench -threads 2 -run '^product' peer.txt
//
// Several files make one table. Without files bench reads standard input. Do not pipe the peer into
// go run, which would compile while the peer is timed.
//
// A line of the input is a name, a tab and milliseconds. bench ignores empty lines, and text after
// another tab:
//
//	product/m=512/n=512/k=512/float32	1.180	227.6 GFLOP/s
//
// The time of a name is the minimum over its lines. A name has a computation, from the list in
// cases.go, and its sizes. The elements are float32 unless the name ends in /float64. The defaults
// are d=64 in attention and recurrences, and m=256 in attention; h stands for heads. Names of
// regressions end in the timed call, as in rff-ridge/n=1000/d=10/D=512/float64/fit. Below the table
// bench lists names that it cannot time, with the reason.
//
// The time of this library is the least time of a call in -rounds rounds. A round times all names
// in turn, so that a busy moment of the machine does not affect all calls of one name. The time
// excludes the preparation of a call and the allocation of results. The inputs are random, with
// fixed seeds.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-feabd252/randfeat/internal/compute/simd"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// run is the command, with its arguments and streams.
func run(args []string, stdin io.Reader, stdout io.Writer) error {
	fs := flag.NewFlagSet("bench", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fill, rounds, threads := 500*time.Millisecond, 3, 0
	fs.Func("time", "`duration` of the calls for a name in a round, from 1ns to 1h (default 500ms)", func(text string) (err error) {
		if fill, err = time.ParseDuration(text); err != nil || fill < 1 || fill > time.Hour {
			return errors.New("want a duration from 1ns to 1h")
		}
		return nil
	})
	fs.Func("rounds", "`number` of rounds, from 1 to 1000 (default 3)", whole(&rounds, 1, 1000))
	fs.Func("threads", "`value` of GOMAXPROCS, from 0 to 1024; 0 leaves it as it is", whole(&threads, 0, 1024))
	pattern := fs.String("run", "", "`regexp` that names must match")
	switch err := fs.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, "bench [flags] [file ...] prints the times of a peer, lines of name<TAB>milliseconds, beside ours.\n\n")
		fs.SetOutput(stdout)
		fs.PrintDefaults()
		return nil
	case err != nil:
		return err
	}
	match, err := regexp.Compile(*pattern)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	rows, err := readAll(fs.Args(), stdin, match)
	if err != nil {
		return err
	}
	if threads > 0 {
		runtime.GOMAXPROCS(threads)
	}
	fmt.Fprintf(stdout, "processor   %s\ntier        %v\nGOMAXPROCS  %d\nGo          %s\n\n",
		processor(), simd.Best, runtime.GOMAXPROCS(0), runtime.Version())
	stopwatch{time.Now, fill}.compare(rows, rounds, setUp)
	return printTable(stdout, rows)
}

// whole returns a function that parses a whole number from low to high into p.
func whole(p *int, low, high int) func(text string) error {
	return func(text string) (err error) {
		if *p, err = strconv.Atoi(text); err != nil || *p < low || *p > high {
			return fmt.Errorf("want a whole number from %d to %d", low, high)
		}
		return nil
	}
}

// row holds a name with its times in milliseconds.
type row struct {
	name       string
	peer, ours float64
	err        error // the reason why ours is missing
}

// readAll reads the files, or stdin without files. It returns a row for each name that matches, in
// the order of first lines.
func readAll(files []string, stdin io.Reader, match *regexp.Regexp) ([]*row, error) {
	var all []*row
	rows := make(map[string]*row)
	add := func(name string, peer float64) {
		switch r := rows[name]; {
		case !match.MatchString(name):
		case r != nil:
			r.peer = min(r.peer, peer)
		default:
			rows[name] = &row{name: name, peer: peer, ours: math.Inf(1)}
			all = append(all, rows[name])
		}
	}
	if len(files) == 0 {
		if err := read("standard input", stdin, add); err != nil {
			return nil, err
		}
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		err = read(name, f, add)
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, errors.New("no name to time")
	}
	return all, nil
}

// read calls add for each nonempty line of r.
func read(file string, r io.Reader, add func(name string, milliseconds float64)) error {
	lines := bufio.NewScanner(r)
	n := 1
	for ; lines.Scan(); n++ {
		line := lines.Text()
		if line == "" {
			continue
		}
		name, rest, _ := strings.Cut(line, "\t")
		number, _, _ := strings.Cut(rest, "\t")
		ms, err := strconv.ParseFloat(number, 64)
		if name == "" || err != nil || !(ms > 0) || math.IsInf(ms, 0) {
			return fmt.Errorf("%s:%d: %q, want a name, a tab and milliseconds above 0", file, n, line)
		}
		add(name, ms)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s:%d: %w", file, n, err)
	}
	return nil
}

// stopwatch times calls until their times add up to fill.
type stopwatch struct {
	now  func() time.Time
	fill time.Duration
}

// compare times the call that setUp returns for each name, and sets the least times, or the errors
// of setUp, in rows. Each round prepares the calls again, so that one call at a time holds memory.
func (s stopwatch) compare(rows []*row, rounds int, setUp func(name string) (func(), error)) {
	for range rounds {
		for _, r := range rows {
			if r.err != nil {
				continue
			}
			var f func()
			if f, r.err = setUp(r.name); r.err == nil {
				runtime.GC() // not while f is timed
				r.ours = min(r.ours, s.least(f))
			}
		}
	}
}

// least returns the least milliseconds of a call of f. If calls are too short for the clock, least
// times several calls at once and uses their mean.
func (s stopwatch) least(f func()) float64 {
	const warmUps, shortest = 3, 20 * time.Microsecond
	calls := 1
	batch := func() time.Duration {
		start := s.now()
		for range calls {
			f()
		}
		return s.now().Sub(start)
	}
	for n := 1; ; n++ {
		d := batch()
		if d >= shortest && n >= warmUps {
			break
		}
		if d < shortest {
			calls *= 2
		}
	}
	least := batch()
	for sum := least; sum < s.fill; {
		d := batch()
		sum += d
		least = min(least, d)
	}
	return float64(least) / float64(time.Millisecond) / float64(calls)
}

// printTable writes the table, and a line for each name without a time.
func printTable(w io.Writer, rows []*row) error {
	width := len("name")
	for _, r := range rows {
		width = max(width, utf8.RuneCountInString(r.name))
	}
	var table, rest strings.Builder
	fmt.Fprintf(&table, "%-*s  %9s  %9s  %7s\n", width, "name", "peer ms", "ours ms", "ratio")
	for _, r := range rows {
		if r.err != nil {
			fmt.Fprintf(&rest, "\nnot timed: %s: %v", r.name, r.err)
			continue
		}
		fmt.Fprintf(&table, "%-*s  %9s  %9s  %7.2f\n", width, r.name, digits(r.peer), digits(r.ours), r.peer/r.ours)
	}
	if rest.Len() > 0 {
		rest.WriteByte('\n')
	}
	_, err := io.WriteString(w, table.String()+rest.String())
	return err
}

// digits formats a positive number with three digits, or with all digits before the point if there
// are more.
func digits(x float64) string {
	return strconv.FormatFloat(x, 'f', max(0, 2-int(math.Floor(math.Log10(x)))), 64)
}

// processor returns the name of the processor, or "unknown".
func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if key, name, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(name)
		}
	}
	return "unknown"
}
