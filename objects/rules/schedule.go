package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Day is the three letters that a weekday begins with.
type Day string

// days are the weekdays as time counts them.
var days = []Day{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// clock is how a time of day is written.
const clock = "15:04"

// Span is a part of some days.
type Span struct {
	Days []Day // empty: every day
	// From and To are times of day, HH:MM. Where To is no later than From, it is the next day's: the span belongs to the day that it
	// begins on. Both empty: the whole day.
	From, To string
}

// fault is what is wrong with s, "" if nothing is.
func (s Span) fault() string {
	for _, d := range s.Days {
		if !slices.Contains(days, d) {
			return fmt.Sprintf("day %q; accepted: sun, mon, tue, wed, thu, fri, sat", d)
		}
	}
	if s.From == "" && s.To == "" {
		return ""
	}
	for _, t := range []string{s.From, s.To} {
		if _, err := time.Parse(clock, t); err != nil || len(t) != len(clock) {
			return fmt.Sprintf("from %q to %q; accepted: times of day such as 22:00 and 06:00, or neither", s.From, s.To)
		}
	}
	return ""
}

// Has tells whether a time is in the span, which has no fault, in its own time zone.
func (s Span) Has(at time.Time) bool {
	of := func(day time.Weekday) bool { return len(s.Days) == 0 || slices.Contains(s.Days, days[day%7]) }
	today, yesterday := of(at.Weekday()), of(at.Weekday()+6)
	if s.From == "" {
		return today
	}
	now := at.Format(clock) // which compares as time does
	if s.From < s.To {
		return today && s.From <= now && now < s.To
	}
	return today && now >= s.From || yesterday && now < s.To
}

func (s Span) String() string {
	on := "every day"
	if len(s.Days) > 0 {
		names := make([]string, len(s.Days))
		for k, d := range s.Days {
			names[k] = string(d)
		}
		on = "on " + strings.Join(names, ", ")
	}
	if s.From == "" {
		return on
	}
	return fmt.Sprintf("%s from %s to %s", on, s.From, s.To)
}
