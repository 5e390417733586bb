package safetensors

import (
	"errors"
	"fmt"
)

const metadataKey = "__metadata__"

type entry struct {
	name       string
	dtype      DType
	shape      []int
	begin, end int
}

// parseHeader checks that names are unique, that fields are known and complete, and that numbers
// are non-negative ints. metadata is nil for none. arrange checks the values of the fields.
func parseHeader(text []byte) (metadata map[string]string, entries []entry, err error) {
	// JSON permits white space before the object, and safetensors does not.
	if len(text) == 0 || text[0] != '{' {
		return nil, nil, fmt.Errorf("header %.20q, want it to start with '{'", text[:min(len(text), 20)])
	}
	c, err := newCursor(text)
	if err != nil {
		return nil, nil, err
	}
	err = c.object(func(name string) error {
		if name == metadataKey {
			metadata, err = c.metadata()
			return err
		}
		e, err := c.entry()
		if err != nil {
			return fmt.Errorf("tensor %.80q: %w", name, err)
		}
		e.name = name
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return metadata, entries, c.finish()
}

func (c *cursor) metadata() (map[string]string, error) {
	t, err := c.next()
	if t == nil && err == nil {
		return nil, nil
	}
	texts := map[string]string{}
	if err == nil {
		err = is(t, '{')
	}
	if err == nil {
		err = c.members(func(key string) error {
			text, err := c.str()
			if err != nil {
				return fmt.Errorf("key %.80q: %w", key, err)
			}
			texts[key] = text
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", metadataKey, err)
	}
	return texts, nil
}

func (c *cursor) entry() (entry, error) {
	var (
		e       entry
		offsets []int
	)
	err := c.object(func(field string) (err error) {
		switch field {
		case "dtype":
			var name string
			name, err = c.str()
			e.dtype = DType(name)
		case "shape":
			e.shape, err = c.integers()
		case "data_offsets":
			offsets, err = c.integers()
		default:
			return fmt.Errorf("field %.80q is unknown", field)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
		return nil
	})
	switch {
	case err != nil:
		return entry{}, err
	case e.dtype == "":
		return entry{}, errors.New("dtype is missing or empty")
	case e.shape == nil:
		return entry{}, errors.New("shape is missing")
	case offsets == nil:
		return entry{}, errors.New("data_offsets are missing")
	case len(offsets) != 2:
		return entry{}, fmt.Errorf("%d data_offsets, want 2", len(offsets))
	}
	e.begin, e.end = offsets[0], offsets[1]
	return e, nil
}
