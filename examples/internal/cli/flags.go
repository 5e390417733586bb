package cli

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Flags are the flags of a program. Each says which values it takes, in its description and in the
// error about any other value.
type Flags struct{ *flag.FlagSet }

// NewFlags returns no flags yet.
func NewFlags(name string) *Flags {
	return &Flags{flag.NewFlagSet(name, flag.ContinueOnError)}
}

// IntVar declares a flag of whole numbers from low to high.
func (f *Flags) IntVar(p *int, name string, value, low, high int, usage string) {
	number(f, p, name, value, fmt.Sprintf("a whole `number` from %d to %d", low, high), usage, func(text string) (int, bool) {
		v, err := strconv.ParseInt(text, 0, strconv.IntSize)
		return int(v), err == nil && int(v) >= low && int(v) <= high
	})
}

// Uint64Var declares a flag of whole numbers, each of which is good: a seed.
func (f *Flags) Uint64Var(p *uint64, name string, value uint64, usage string) {
	number(f, p, name, value, fmt.Sprintf("a whole `number` from 0 to %d", uint64(math.MaxUint64)), usage, func(text string) (uint64, bool) {
		v, err := strconv.ParseUint(text, 0, 64)
		return v, err == nil
	})
}

// Float64Var declares a flag of numbers from low to high, none of them NaN.
func (f *Flags) Float64Var(p *float64, name string, value, low, high float64, usage string) {
	number(f, p, name, value, fmt.Sprintf("a `number` from %v to %v", low, high), usage, func(text string) (float64, bool) {
		v, err := strconv.ParseFloat(text, 64)
		return v, err == nil && v >= low && v <= high
	})
}

// number declares a flag of what parse accepts.
func number[T any](f *Flags, p *T, name string, value T, want, usage string, parse func(string) (T, bool)) {
	*p = value
	f.declare(name, want, usage, func() string { return fmt.Sprint(*p) }, func(text string) error {
		v, ok := parse(text)
		if !ok {
			return refused(want)
		}
		*p = v
		return nil
	})
}

// BoolVar declares a flag that is false unless it is given.
func (f *Flags) BoolVar(p *bool, name, usage string) {
	f.Var(&value{choice: true, set: func(text string) (err error) {
		if *p, err = strconv.ParseBool(text); err != nil {
			return refused("true or false")
		}
		return nil
	}}, name, usage)
}

// ChoiceVar declares a flag of one of some names.
func (f *Flags) ChoiceVar(p *string, name, value string, names []string, usage string) {
	f.text(p, name, value, "one `name` of "+strings.Join(names, ", "), usage, func(text string) error {
		if !slices.Contains(names, text) {
			return errors.New("no such name")
		}
		return nil
	})
}

// InputVar declares a flag of what is there, a file or a folder. The empty path is for none.
func (f *Flags) InputVar(p *string, name, value, kind, usage string) {
	f.text(p, name, value, "a `"+kind+"` that is there, \"\" for none", usage, func(path string) error {
		if path == "" {
			return nil
		}
		info, err := os.Stat(path)
		if err == nil && info.IsDir() != (kind == "folder") {
			err = errors.New("no " + kind)
		}
		return cause(err)
	})
}

// OutputVar declares a flag of a file to write, whose name has one of the endings, if there are
// any. The empty path is for none. A program fails before a long computation instead of after it.
func (f *Flags) OutputVar(p *string, name, value, usage string, endings ...string) {
	want := "a `file` in a folder that can be written"
	if len(endings) > 0 {
		want += ", ending in " + strings.Join(endings, ", ")
	}
	f.text(p, name, value, want+", \"\" for none", usage, func(path string) error {
		if path == "" {
			return nil
		}
		if len(endings) > 0 && !slices.Contains(endings, strings.ToLower(filepath.Ext(path))) {
			return fmt.Errorf("ending %q", filepath.Ext(path))
		}
		switch info, err := os.Stat(path); {
		case err == nil && info.IsDir():
			return errors.New("a folder")
		case inPlace(info, err):
			return nil
		}
		return writable(filepath.Dir(path))
	})
}

// Folder makes the folder of a flag, and returns an error unless files can be made in it.
func Folder(flag, folder string) error {
	err := os.MkdirAll(folder, 0o777)
	if err == nil {
		err = writable(folder)
	}
	if err != nil {
		return fmt.Errorf("-%s %q: %w, want a folder that can be made and written", flag, folder, cause(err))
	}
	return nil
}

func writable(folder string) error {
	_, remove, err := Temporary(folder, ".writable")
	if err != nil {
		return cause(err)
	}
	remove()
	return nil
}

// Pictures are the endings of the names of pictures that package charts writes.
var Pictures = []string{".png", ".svg", ".pdf"}

// text declares a flag of what check accepts.
func (f *Flags) text(p *string, name, value, want, usage string, check func(string) error) {
	*p = value
	f.declare(name, want, usage, func() string { return *p }, func(text string) error {
		if err := check(text); err != nil {
			return fmt.Errorf("%w, %w", err, refused(want))
		}
		*p = text
		return nil
	})
}

func (f *Flags) declare(name, want, usage string, get func() string, set func(string) error) {
	f.Var(&value{get: get, set: set}, name, usage+": "+want)
}

// refused returns the error of a value that is not wanted.
func refused(want string) error { return errors.New("want " + strings.ReplaceAll(want, "`", "")) }

// cause returns the error of the system alone: the path stands in the flag.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// value is the value of a flag.
type value struct {
	get    func() string // nil shows no default
	set    func(text string) error
	choice bool // without an argument the value is true
}

func (v *value) Set(text string) error { return v.set(text) }
func (v *value) IsBoolFlag() bool      { return v.choice }

func (v *value) String() string {
	if v.get == nil {
		return ""
	}
	return v.get()
}

// most is the memory that a program may take, in bytes: what a small machine has.
const most = 8 << 30

// Fits returns an error that begins with the format if so many bytes are more than a program may take.
func Fits(bytes float64, format string, a ...any) error {
	if bytes <= most {
		return nil
	}
	return fmt.Errorf("%s: %.3g GiB of memory, want at most %d", fmt.Sprintf(format, a...), bytes/(1<<30), most>>30)
}
