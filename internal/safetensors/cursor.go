package safetensors

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// cursor reads the subset of JSON that headers use: objects, strings and arrays of non-negative
// integers. encoding/json takes the last of equal keys, and replaces invalid UTF-8 and lone
// surrogates, so that two names could become one; cursor refuses all of these. Methods skip white
// space before they read.
type cursor struct {
	text []byte
	at   int
}

// object reads an object and calls member after each key and its colon; member
// reads the value. An equal key is an error.
func (c *cursor) object(member func(key string) error) error {
	if err := c.expect('{'); err != nil {
		return err
	}
	if c.skip('}') {
		return nil
	}
	seen := map[string]bool{}
	for {
		key, err := c.str()
		if err != nil {
			return err
		}
		if seen[key] {
			return c.fail("key %.80q occurs twice", key)
		}
		seen[key] = true
		if err := c.expect(':'); err != nil {
			return err
		}
		if err := member(key); err != nil {
			return err
		}
		if c.skip('}') {
			return nil
		}
		if err := c.expect(','); err != nil {
			return err
		}
	}
}

// integers reads an array of integers and returns a slice that is not nil.
func (c *cursor) integers() ([]int, error) {
	if err := c.expect('['); err != nil {
		return nil, err
	}
	list := []int{}
	if c.skip(']') {
		return list, nil
	}
	for {
		n, err := c.integer()
		if err != nil {
			return nil, err
		}
		list = append(list, n)
		if c.skip(']') {
			return list, nil
		}
		if err := c.expect(','); err != nil {
			return nil, err
		}
	}
}

// integer reads a number of digits alone, without sign, fraction, exponent and
// leading zeros, that an int holds.
func (c *cursor) integer() (int, error) {
	c.space()
	rest := c.text[c.at:]
	if end := bytes.IndexAny(rest, " \t\r\n,:[]{}\""); end >= 0 {
		rest = rest[:end]
	}
	for _, b := range rest {
		if b < '0' || b > '9' {
			return 0, c.fail("want a non-negative integer, got %.40q", rest)
		}
	}
	switch {
	case len(rest) == 0:
		return 0, c.fail("want a non-negative integer, got %s", c.here())
	case len(rest) > 1 && rest[0] == '0':
		return 0, c.fail("want no leading zeros, got %.40q", rest)
	// No int has more digits, and a short number converts fast.
	case len(rest) > 20:
		return 0, c.fail("%.40q is beyond an int", rest)
	}
	n, err := strconv.Atoi(string(rest))
	if err != nil {
		return 0, c.fail("%s is beyond an int", rest)
	}
	c.at += len(rest)
	return n, nil
}

// str reads a string and returns it without escapes, as valid UTF-8.
func (c *cursor) str() (string, error) {
	if err := c.expect('"'); err != nil {
		return "", err
	}
	start, escaped := c.at, false
	for c.at < len(c.text) {
		switch b := c.text[c.at]; {
		case b == '"':
			raw := c.text[start:c.at]
			if !utf8.Valid(raw) {
				return "", c.fail("string %.80q is not valid UTF-8", raw)
			}
			c.at++
			if !escaped {
				return string(raw), nil
			}
			text, err := unescape(raw)
			if err != nil {
				return "", c.fail("string %.80q: %w", raw, err)
			}
			return text, nil
		case b < ' ':
			return "", c.fail("control character %q in a string", b)
		case b == '\\':
			escaped = true
			c.at += 2
		default:
			c.at++
		}
	}
	c.at = start
	return "", c.fail("string without an end")
}

// finish checks that nothing but white space is left.
func (c *cursor) finish() error {
	c.space()
	if c.at < len(c.text) {
		return c.fail("want the end of the header, got %s", c.here())
	}
	return nil
}

// expect reads the byte b.
func (c *cursor) expect(b byte) error {
	if !c.skip(b) {
		return c.fail("want %q, got %s", b, c.here())
	}
	return nil
}

// skip reads the byte b if it is next and tells whether it was.
func (c *cursor) skip(b byte) bool {
	c.space()
	if c.at == len(c.text) || c.text[c.at] != b {
		return false
	}
	c.at++
	return true
}

// space skips white space.
func (c *cursor) space() {
	for c.at < len(c.text) {
		switch c.text[c.at] {
		case ' ', '\t', '\r', '\n':
			c.at++
		default:
			return
		}
	}
}

// here is the next byte as text for an error.
func (c *cursor) here() string {
	if c.at == len(c.text) {
		return "the end of the header"
	}
	if b := c.text[c.at]; b >= utf8.RuneSelf {
		return fmt.Sprintf("byte %#x", b)
	}
	return fmt.Sprintf("%q", c.text[c.at])
}

// fail returns an error that says where in the header the cursor is.
func (c *cursor) fail(format string, args ...any) error {
	return fmt.Errorf("header byte %d: %w", c.at, fmt.Errorf(format, args...))
}

// unescape returns raw, the inside of a string, with its escapes replaced. A
// backslash in raw is followed by at least one byte.
func unescape(raw []byte) (string, error) {
	text := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			text = append(text, raw[i])
			continue
		}
		i++
		switch e := raw[i]; e {
		case '"', '\\', '/':
			text = append(text, e)
		case 'b':
			text = append(text, '\b')
		case 'f':
			text = append(text, '\f')
		case 'n':
			text = append(text, '\n')
		case 'r':
			text = append(text, '\r')
		case 't':
			text = append(text, '\t')
		case 'u':
			unit, ok := codeUnit(raw[i-1:])
			if !ok {
				return "", errors.New(`want four hexadecimal digits after \u`)
			}
			i += 4
			if utf16.IsSurrogate(unit) {
				// A rune of 0 makes no pair, so that it stands for no second unit.
				low, _ := codeUnit(raw[i+1:])
				if unit = utf16.DecodeRune(unit, low); unit == utf8.RuneError {
					return "", errors.New("surrogate without its other half")
				}
				i += 6
			}
			text = utf8.AppendRune(text, unit)
		default:
			return "", fmt.Errorf("unknown escape %q", e)
		}
	}
	return string(text), nil
}

// codeUnit returns the UTF-16 code unit of the escape \uXXXX that raw starts with,
// 0 and false if it does not.
func codeUnit(raw []byte) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		return 0, false
	}
	return rune(unit), true
}
