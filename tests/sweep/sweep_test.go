package sweep_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/seed-feabd252/randfeat/internal/testing/race"
)

// function is an exported function, with type arguments if it is generic.
type function struct {
	name string
	f    any
}

const (
	// longest is the largest processor time of a call.
	longest = 20 * time.Second
	// largest is the largest memory that a call may allocate.
	largest = 512 << 20
	// tries is the number of calls that search for valid arguments of a function.
	tries = 40
	// moreTries is the number of calls for a method that has valid arguments for another receiver.
	// The search begins with these arguments.
	moreTries = 10
)

// allowed holds methods, and types with all their methods, that may cause panics of the runtime,
// with the reasons.
var allowed = map[string]string{
	"dense.Matrix.At":    "elements are read without a look at the view, as documentation says",
	"dense.Matrix.Set":   "elements are written without a look at the view, as documentation says",
	"dense.Matrix.Row":   "rows are taken without a look at the view, as documentation says",
	"ridge.Block.Weight": "weights are read without a look at their number, as elements are",
}

// mayPanic reports whether allowed has the method or its type.
func mayPanic(method string) bool {
	dot := strings.LastIndexByte(method, '.')
	return allowed[method] != "" || dot >= 0 && allowed[method[:dot]] != ""
}

// childVariable is the environment variable with the folder of the library, in the process of the
// calls.
const childVariable = "RANDFEAT_SWEEP"

// TestSweep runs the calls in another process and an empty folder, because a process cannot recover
// from a lack of memory.
func TestSweep(t *testing.T) {
	if root := os.Getenv(childVariable); root != "" {
		sweepAll(t, root)
		return
	}
	if testing.Short() || race.Detector {
		t.Skip("the sweep takes seconds, and has no memory for the race detector")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	c := exec.Command(os.Args[0], "-test.run", "^TestSweep$", "-test.v="+fmt.Sprint(testing.Verbose()))
	c.Env, c.Dir = append(os.Environ(), childVariable+"="+root), t.TempDir()
	out, err := c.CombinedOutput()
	if text := string(out); err != nil {
		last, _ := os.ReadFile(filepath.Join(c.Dir, lastCall))
		last, _, _ = bytes.Cut(last, []byte("\n")) // what follows is of longer calls before it
		t.Errorf("%v, the last call was %s\n%s", err, last, text[:min(len(text), 60000)])
	} else if testing.Verbose() {
		t.Log(text)
	}
}

// lastCall is the file with the current call, for calls that end the process.
const lastCall = "last"

// sweeper calls functions and keeps their results.
type sweeper struct {
	known    known
	ours     map[string]bool // declared methods
	packages *regexp.Regexp  // the valid beginnings of panics
	called   map[string]bool
	liked    map[string]bool    // functions that have returned without an error
	best     map[signed][]value // the arguments of these calls
	faults   map[string]string  // the first fault of each function
	count    int
	bytes    uint64 // that the process had allocated after the last call
	current  atomic.Pointer[call]
	last     *os.File
}

// signed is a function with its type, which depends on the type arguments.
type signed struct {
	name string
	t    reflect.Type
}

// call is the current call.
type call struct{ text string }

func sweepAll(t *testing.T, root string) {
	e := declared(t, root)
	var err error
	names := []string{}
	for name := range e.paths {
		names = append(names, name)
	}
	s := &sweeper{
		known: known{values: map[reflect.Type][]reflect.Value{}}, ours: e.methods,
		packages: regexp.MustCompile("^(" + strings.Join(names, "|") + "): "),
		called:   map[string]bool{}, liked: map[string]bool{}, best: map[signed][]value{}, faults: map[string]string{},
	}
	s.last, err = os.Create(lastCall)
	require.NoError(t, err)
	defer s.last.Close()
	bounded(t)
	s.bytes = allocated()
	go s.watch()
	// Each round has the results of the rounds before.
	for range 3 {
		s.all(false)
	}
	s.all(true)
	for _, name := range slices.Sorted(keys(s.faults)) {
		t.Errorf("%s: %s", name, s.faults[name])
	}
	for name := range e.methods {
		if parts := strings.Split(name, "."); isUpper(parts[1]) {
			assert.True(t, s.called[name] || mayPanic(name), "%s was not called: the sweep found no receiver", name)
		}
	}
	likes := 0
	for name := range s.called {
		if s.liked[name] {
			likes++
		} else {
			t.Logf("%s took no arguments", name)
		}
	}
	t.Logf("%d calls of %d functions and methods, %d of which took arguments", s.count, len(s.called), likes)
}

func isUpper(name string) bool { return name != "" && name[0] >= 'A' && name[0] <= 'Z' }

func keys[V any](m map[string]V) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// watch ends the process if a call takes too much processor time. Processor time does not advance
// while the system stops the process. Calls that only wait take no processor time; the timeout of
// the test ends them.
func (s *sweeper) watch() {
	var at *call
	var since time.Duration
	for {
		time.Sleep(time.Second)
		now, c := processorTime(), s.current.Load()
		if c == nil || c != at {
			at, since = c, now
			continue
		}
		if now-since > longest {
			stacks := make([]byte, 1<<16)
			fmt.Printf("%s takes more than %v\n%s\n", c.text, longest, stacks[:runtime.Stack(stacks, true)])
			os.Exit(1)
		}
	}
}

// all calls all functions and methods once, with invalid arguments if hostile is set.
func (s *sweeper) all(hostile bool) {
	for _, f := range functions {
		base, _, _ := strings.Cut(f.name, "[")
		s.sweep(base, f.name, reflect.ValueOf(f.f), hostile)
	}
	for _, t := range types {
		receivers := []value{constant("zero", reflect.Zero(t))}
		if exported(t) {
			receivers = append(receivers, s.known.good(t, 0)...)
		}
		if hostile {
			receivers = append(receivers, s.known.bad(t, 0)...)
		}
		for _, r := range receivers {
			if t.Kind() == reflect.Struct {
				r = pointer(r) // which has the methods of the struct as well
			}
			s.methods(r, hostile)
		}
	}
	for _, t := range slices.Clone(s.known.order) {
		for i, x := range s.known.values[t] {
			s.methods(constant(fmt.Sprintf("%v (%d)", t, i), x), hostile)
		}
	}
}

var brackets = regexp.MustCompile(`\[.*\]|\*`)

// methods calls the methods of a value of a type of the library.
func (s *sweeper) methods(r value, hostile bool) {
	x := r.make()
	t := x.Type()
	base := brackets.ReplaceAllString(t.String(), "")
	for i := range t.NumMethod() {
		name := base + "." + t.Method(i).Name
		if s.ours[name] {
			s.sweep(name, name+" of "+r.label, r.make().Method(i), hostile)
		}
	}
}

// sweep calls f with valid arguments, and then with invalid values for each argument. An interface
// that only types of the library implement stands for each of these types in turn.
func (s *sweeper) sweep(base, name string, f reflect.Value, hostile bool) {
	s.called[base] = true
	if mayPanic(base) {
		return
	}
	t := f.Type()
	in := make([]reflect.Type, t.NumIn())
	for i := range in {
		in[i] = t.In(i)
	}
	for i, closed := range in {
		if !isClosed(closed) {
			continue
		}
		for _, own := range types {
			if own.Implements(closed) {
				in[i] = own
				s.sweepOf(base, fmt.Sprintf("%s of %v", name, own), f, slices.Clone(in), hostile)
			}
		}
		in[i] = closed
	}
	s.sweepOf(base, name, f, in, hostile)
}

// isClosed reports whether t is an interface with a method that no other package has.
func isClosed(t reflect.Type) bool {
	if t.Kind() != reflect.Interface {
		return false
	}
	for i := range t.NumMethod() {
		if !t.Method(i).IsExported() && strings.HasPrefix(t.PkgPath(), module) {
			return true
		}
	}
	return false
}

// sweepOf is sweep for arguments of the types in. Beside a type in place of an interface, another
// interface may be nil.
func (s *sweeper) sweepOf(base, name string, f reflect.Value, in []reflect.Type, hostile bool) {
	t, chosen := f.Type(), false
	for i := range in {
		chosen = chosen || in[i] != t.In(i)
	}
	choices := make([][]value, len(in))
	for i := range choices {
		choices[i] = s.known.goodArguments(in[i])
		if chosen && in[i].Kind() == reflect.Interface {
			choices[i] = append(slices.Clip(choices[i]), constant("nil", reflect.Zero(in[i])))
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	best := make([]value, len(choices))
	for i, c := range choices {
		best[i] = c[0]
	}
	own, most := signed{base + fmt.Sprint(in), t}, tries
	if args := s.best[own]; hostile && args != nil {
		best, most = slices.Clone(args), moreTries
	}
	for k := range most {
		args := slices.Clone(best)
		for i, c := range choices {
			if k > 0 {
				args[i] = c[rng.IntN(len(c))]
			}
		}
		if results, ok := s.call(base, name, f, args); ok {
			copy(best, args)
			s.liked[base], s.best[own] = true, args
			for _, r := range results {
				s.known.add(r)
			}
			if k == 0 || rng.IntN(4) == 0 || len(args) == 0 {
				break
			}
		}
		if len(args) == 0 {
			break
		}
	}
	if !hostile {
		return
	}
	for i := range best {
		args := slices.Clone(best)
		for _, v := range s.known.badArguments(in[i]) {
			args[i] = v
			s.call(base, name, f, args)
		}
	}
}

// call calls f once, and reports whether f returns without an error.
func (s *sweeper) call(base, name string, f reflect.Value, args []value) (results []reflect.Value, ok bool) {
	in, labels := make([]reflect.Value, len(args)), make([]string, len(args))
	for i, a := range args {
		t := f.Type().In(i)
		in[i] = reflect.New(t).Elem()
		if x := a.make(); x.IsValid() {
			in[i].Set(x)
		}
		labels[i] = a.label
	}
	text := name + "(" + strings.Join(labels, ", ") + ")"
	s.count++
	s.current.Store(&call{text})
	_, _ = s.last.WriteAt([]byte(text+"\n"), 0)
	defer func() {
		if p := recover(); p != nil {
			ok = false
			if _, fault := p.(runtime.Error); fault || !s.packages.MatchString(fmt.Sprint(p)) {
				stack := make([]byte, 1<<14)
				if at := where(string(stack[:runtime.Stack(stack, false)])); !ofGonum(base, at) {
					s.fault(base, fmt.Sprintf("%s panics: %v\n%s", text, p, at))
				}
			}
		}
		before := s.bytes
		s.bytes = allocated()
		if n := s.bytes - before; n > largest {
			s.fault(base, fmt.Sprintf("%s allocates %d bytes", text, n))
		}
		s.current.Store(nil)
	}()
	if f.Type().IsVariadic() {
		results = f.CallSlice(in)
	} else {
		results = f.Call(in)
	}
	for _, r := range results {
		if r.Type() == errorType && !r.IsNil() {
			return nil, false
		}
	}
	for _, a := range in {
		if b, ok := a.Interface().(*bytes.Buffer); ok && b != nil {
			results = append(results, reflect.ValueOf(b.Bytes()))
		}
	}
	return results, true
}

func (s *sweeper) fault(base, text string) {
	if _, ok := s.faults[base]; !ok {
		s.faults[base] = text
	}
}

// ofGonum reports whether a fault is in a routine of gonum that package blas calls. The
// documentation allows panics of gonum there, and gonum compares lengths that overflow.
func ofGonum(base, stack string) bool {
	first, _, _ := strings.Cut(stack, "\n")
	return strings.HasPrefix(base, "blas.Implementation.") && strings.Contains(first, "/blas/gonum/")
}

// where returns the lines of a stack that are in the library.
func where(stack string) string {
	var lines []string
	for _, line := range strings.Split(stack, "\n") {
		if strings.HasPrefix(line, "\t") && strings.Contains(line, "/") && !strings.Contains(line, "_test.go") && !strings.Contains(line, "/src/") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[:min(len(lines), 6)], "\n")
}

var sample = []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}

// allocated returns the bytes that the process has allocated.
func allocated() uint64 {
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
