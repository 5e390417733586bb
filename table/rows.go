package table

import (
	"slices"
)

func (t *Table) groups(o Options) ([]int, error) {
	group := make([]int, len(t.rows))
	switch {
	case o.Group != "":
		at, known := slices.Index(t.names, o.Group), make(map[string]int)
		for i, row := range t.rows {
			text := row[at]
			if missing(text) {
				group[i] = -1 - i
				continue
			}
			if _, ok := known[text]; !ok {
				known[text] = len(known)
			}
			group[i] = known[text]
		}
	case o.Time != "":
		times, err := t.numbers(o.Time, "a number or a date, as Time has", func(text string) (float64, bool) {
			if at, ok := date(text); ok {
				return days(at), true
			}
			return number(text)
		})
		if err != nil {
			return nil, err
		}
		order := slices.Compact(slices.Sorted(slices.Values(times)))
		for i, v := range times {
			group[i], _ = slices.BinarySearch(order, v)
		}
	default:
		return nil, nil
	}
	return group, nil
}

func (t *Table) weights(name string) ([]float64, error) {
	if name == "" {
		return nil, nil
	}
	return t.numbers(name, "a weight, a number from 0 on", func(text string) (float64, bool) {
		v, ok := number(text)
		return v, ok && v >= 0
	})
}

func (t *Table) numbers(name, want string, parse func(text string) (float64, bool)) ([]float64, error) {
	at, all := slices.Index(t.names, name), make([]float64, len(t.rows))
	for i, row := range t.rows {
		v, ok := parse(row[at])
		if !ok {
			return nil, wrong(t.lines[i], name, row[at], want)
		}
		all[i] = v
	}
	return all, nil
}
