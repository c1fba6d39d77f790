package web

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/segd/segd/api"
)

// parameters reads those of a request's query, and collects all that is wrong.
type parameters struct{ faults []api.Field }

// parameter takes the value of one.
type parameter func(name, value string)

func (p *parameters) bad(name, format string, args ...any) {
	p.faults = append(p.faults, api.Field{Field: name, Detail: fmt.Sprintf(format, args...)})
}

func (p *parameters) text(into *string) parameter {
	return func(name, value string) {
		if n := utf8.RuneCountInString(value); n < 1 || n > maxFilter {
			p.bad(name, "%d characters; accepts 1 to %d", n, maxFilter)
		}
		*into = value
	}
}

func (p *parameters) time(into *time.Time) parameter {
	return func(name, value string) {
		var fault error
		if *into, fault = time.Parse(time.RFC3339, value); fault != nil {
			p.bad(name, "%q; accepts a time of RFC 3339 such as 2027-01-31T08:00:00Z", value)
		}
	}
}

func (p *parameters) count(into *int, most int) parameter {
	return func(name, value string) {
		var fault error
		if *into, fault = strconv.Atoi(value); fault != nil || *into < 1 || *into > most {
			p.bad(name, "%q; accepts 1 to %d", value, most)
		}
	}
}

// read takes the values of those that are known, each once.
func (p *parameters) read(query url.Values, known map[string]parameter) error {
	names := slices.Sorted(maps.Keys(known))
	for _, name := range slices.Sorted(maps.Keys(query)) {
		switch values := query[name]; {
		case known[name] == nil:
			p.bad(name, "no such parameter; accepts %s", strings.Join(names, ", "))
		case len(values) > 1:
			p.bad(name, "it is there %d times; accepts one", len(values))
		default:
			known[name](name, values[0])
		}
	}
	return p.refusal()
}

// span checks that a time comes after another, where both are given.
func (p *parameters) span(from, to time.Time) error {
	if !from.IsZero() && !to.IsZero() && !from.Before(to) {
		p.bad("to", "it is not after from; accepts a later time")
	}
	return p.refusal()
}

func (p *parameters) refusal() error {
	if len(p.faults) == 0 {
		return nil
	}
	refusal := badField(p.faults[0])
	refusal.Fields = p.faults
	return refusal
}
