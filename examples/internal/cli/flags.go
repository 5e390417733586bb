package cli

import (
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The description of a flag names the accepted values, and so does the error for any other value.
type Flags struct{ *flag.FlagSet }

func NewFlags(name string) *Flags {
	return &Flags{flag.NewFlagSet(name, flag.ContinueOnError)}
}

func (f *Flags) IntVar(p *int, name string, value, low, high int, usage string) {
	declare(f, p, name, value, fmt.Sprintf("a whole `number` from %d to %d", low, high), usage, func(text string) (int, error) {
		v, err := strconv.ParseInt(text, 0, strconv.IntSize)
		return int(v), inside(err == nil && int(v) >= low && int(v) <= high)
	})
}

func (f *Flags) Uint64Var(p *uint64, name string, value uint64, usage string) {
	declare(f, p, name, value, fmt.Sprintf("a whole `number` from 0 to %d", uint64(math.MaxUint64)), usage, func(text string) (uint64, error) {
		v, err := strconv.ParseUint(text, 0, 64)
		return v, inside(err == nil)
	})
}

// Float64Var declares a flag for numbers from low to high, which excludes NaN.
func (f *Flags) Float64Var(p *float64, name string, value, low, high float64, usage string) {
	declare(f, p, name, value, fmt.Sprintf("a `number` from %v to %v", low, high), usage, func(text string) (float64, error) {
		v, err := strconv.ParseFloat(text, 64)
		return v, inside(err == nil && v >= low && v <= high)
	})
}

func (f *Flags) BoolVar(p *bool, name, usage string) {
	f.BoolFunc(name, usage, func(text string) (err error) {
		if *p, err = strconv.ParseBool(text); err != nil {
			return errors.New("want true or false")
		}
		return nil
	})
}

// InputVar declares a flag for an existing file or folder, as kind says, or "" for none.
func (f *Flags) InputVar(p *string, name, value, kind, usage string) {
	declare(f, p, name, value, "a `"+kind+"` that is there, \"\" for none", usage, func(path string) (string, error) {
		if path == "" {
			return "", nil
		}
		info, err := os.Stat(path)
		if err == nil && info.IsDir() != (kind == "folder") {
			err = errors.New("no " + kind)
		}
		return path, cause(err)
	})
}

// OutputVar declares a flag for an output file whose name has one of the endings, or any ending if
// endings is empty. The empty path means none. The flag refuses paths that are not writable, so
// that a program does not fail after a long computation.
func (f *Flags) OutputVar(p *string, name, value, usage string, endings ...string) {
	want := "a `file` in a folder that can be written"
	if len(endings) > 0 {
		want += ", ending in " + strings.Join(endings, ", ")
	}
	declare(f, p, name, value, want+", \"\" for none", usage, func(path string) (string, error) {
		ending := filepath.Ext(path)
		switch info, err := os.Stat(path); {
		case path == "":
			return "", nil
		case len(endings) > 0 && !slices.Contains(endings, strings.ToLower(ending)):
			return "", fmt.Errorf("ending %q", ending)
		case err == nil && info.IsDir():
			return "", errors.New("a folder")
		case err == nil && !info.Mode().IsRegular(): // a device
			return path, nil
		}
		return path, writable(filepath.Dir(path))
	})
}

var Pictures = []string{".png", ".svg"}

// The error message for a number out of range has only the range.
var errOutside = errors.New("out of range")

func inside(ok bool) error {
	if ok {
		return nil
	}
	return errOutside
}

// want describes the values that parse accepts.
func declare[T any](f *Flags, p *T, name string, value T, want, usage string, parse func(string) (T, error)) {
	*p = value
	usage += ": " + want
	if shown := fmt.Sprint(value); shown != "" {
		usage += " (default " + shown + ")"
	}
	f.Func(name, usage, func(text string) error {
		v, err := parse(text)
		if err != nil {
			wanted := errors.New("want " + strings.ReplaceAll(want, "`", ""))
			if err == errOutside {
				return wanted
			}
			return fmt.Errorf("%w, %w", err, wanted)
		}
		*p = v
		return nil
	})
}
