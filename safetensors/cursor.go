package safetensors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"unicode/utf8"
)

// cursor reads the JSON of headers: objects, strings and arrays of non-negative integers. It is
// stricter than the decoder of encoding/json, on which it is built. That decoder permits equal
// keys, and replaces invalid UTF-8 and lone surrogates, so that two names could become one.
type cursor struct{ json *json.Decoder }

// The group of escape matches a surrogate that is not part of a pair.
var escape = regexp.MustCompile(`(?is)\\(?:ud[89ab]..\\ud[c-f]..|(ud[89a-f]..)|.)`)

const longestEscape = len(`\ud83d\ude00`)

// newCursor returns an error if text has bytes that the decoder would replace.
func newCursor(text []byte) (*cursor, error) {
	// The bytes around an error show the name.
	around := func(at int) []byte { return text[max(0, at-40):min(len(text), at+40)] }
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			return nil, fmt.Errorf("the header is not valid UTF-8 at %q", around(at))
		}
		at += size
	}
	for at := 0; ; {
		next := bytes.IndexByte(text[at:], '\\')
		if next < 0 {
			break
		}
		at += next
		m := escape.FindSubmatchIndex(text[at:min(len(text), at+longestEscape)])
		if m == nil {
			break
		}
		if m[2] >= 0 {
			return nil, fmt.Errorf("surrogate without its other half at %q", around(at+m[2]))
		}
		at += m[1]
	}
	c := &cursor{json: json.NewDecoder(bytes.NewReader(text))}
	c.json.UseNumber()
	return c, nil
}

func (c *cursor) next() (json.Token, error) {
	t, err := c.json.Token()
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		// io.EOF would mean the end of the file.
		err = errors.New("unexpected end")
	}
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	return t, nil
}

func written(t json.Token) string {
	switch t := t.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(t)
	}
	return fmt.Sprint(t)
}

func (c *cursor) expect(d json.Delim) error {
	t, err := c.next()
	if err != nil {
		return err
	}
	return is(t, d)
}

func is(t json.Token, d json.Delim) error {
	if t != d {
		return fmt.Errorf("want %v, got %.40s", d, written(t))
	}
	return nil
}

// object reads an object. It calls member after each key and its colon, and member reads the value.
// A second equal key is an error.
func (c *cursor) object(member func(key string) error) error {
	if err := c.expect('{'); err != nil {
		return err
	}
	return c.members(member)
}

func (c *cursor) members(member func(key string) error) error {
	seen := map[string]bool{}
	for c.json.More() {
		key, err := c.str()
		if err != nil {
			return err
		}
		if seen[key] {
			return fmt.Errorf("key %.80q occurs twice", key)
		}
		seen[key] = true
		if err := member(key); err != nil {
			return err
		}
	}
	return c.expect('}')
}

// The result is not nil if there is no error.
func (c *cursor) integers() ([]int, error) {
	if err := c.expect('['); err != nil {
		return nil, err
	}
	list := []int{}
	for c.json.More() {
		t, err := c.next()
		if err != nil {
			return nil, err
		}
		n, ok := t.(json.Number)
		if !ok || !digits.MatchString(string(n)) {
			return nil, fmt.Errorf("want a non-negative integer, got %.40s", written(t))
		}
		// No int has more than 20 digits.
		i, err := strconv.Atoi(string(n[:min(len(n), 20)]))
		if err != nil {
			return nil, fmt.Errorf("%.40s is beyond an int", n)
		}
		list = append(list, i)
	}
	return list, c.expect(']')
}

var digits = regexp.MustCompile(`^[0-9]+$`)

func (c *cursor) str() (string, error) {
	t, err := c.next()
	if err != nil {
		return "", err
	}
	s, ok := t.(string)
	if !ok {
		return "", fmt.Errorf("want a string, got %.40s", written(t))
	}
	return s, nil
}

func (c *cursor) finish() error {
	switch t, err := c.json.Token(); {
	case err == io.EOF:
		return nil
	case err != nil:
		return fmt.Errorf("want the end of the header: %w", err)
	default:
		return fmt.Errorf("want the end of the header, got %.40s", written(t))
	}
}
