package rules_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/objects/rules"
	"github.com/segd/segd/objects/zones"
)

var layout = zones.Layout{Zones: []zones.Zone{{Name: "porch", Polygon: []zones.Point{{0, 0}, {1, 0}, {1, 1}}}}}

// night is a Monday.
var night = time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)

// play shows a rule a frame a second, and returns the seconds at which there was an event.
func play(t *testing.T, r rules.Rule, seconds int, at func(second int, f *rules.Frame)) (told []int) {
	t.Helper()
	w, err := rules.New([]rules.Rule{r}, layout)
	require.NoError(t, err)
	for s := range seconds {
		f := rules.Frame{
			Time: time.Duration(s) * time.Second, Wall: night.Add(time.Duration(s) * time.Second), Layout: layout,
			In: func(uint32, string) bool { return true },
		}
		at(s, &f)
		for range w.Observe(f) {
			told = append(told, s)
		}
	}
	return told
}

func person(x float64) rules.Object {
	return rules.Object{ID: 1, Class: "person", Told: true, Seen: true, Foot: zones.Point{x, 100}, Height: 100}
}

func TestRules(t *testing.T) {
	always := func(_ int, f *rules.Frame) { f.Objects = []rules.Object{person(5)} }
	from10 := func(s int, f *rules.Frame) {
		if s >= 10 {
			f.Objects = []rules.Object{person(5)}
		}
	}
	for _, tt := range []struct {
		name string
		rule rules.Rule
		at   func(int, *rules.Frame)
		want []int
	}{
		{"present, once for a stay", rules.Rule{When: rules.Present, For: 3 * time.Second}, always, []int{3}},
		{"counted from when it came", rules.Rule{When: rules.Present, For: 3 * time.Second}, from10, []int{13}},
		{"of its classes alone", rules.Rule{When: rules.Present, For: 3 * time.Second, Classes: []string{"car"}}, always, nil},
		{"in its zone alone", rules.Rule{When: rules.Present, Zone: "porch", For: 3 * time.Second}, func(s int, f *rules.Frame) {
			always(s, f)
			f.In = func(_ uint32, zone string) bool { return zone == "porch" && s >= 10 }
		}, []int{13}},
		{"not of what no event has told of", rules.Rule{When: rules.Present, For: 3 * time.Second}, func(s int, f *rules.Frame) {
			o := person(5)
			o.Told = s >= 20
			f.Objects = []rules.Object{o}
		}, []int{20}},
		{"out of sight for a while, it is there", rules.Rule{When: rules.Present, For: 8 * time.Second}, func(s int, f *rules.Frame) {
			o := person(5)
			o.Seen = s < 3 || s > 6
			f.Objects = []rules.Object{o}
		}, []int{8}},
		{"lost, it is not", rules.Rule{When: rules.Present, For: 8 * time.Second}, func(s int, f *rules.Frame) {
			o := person(5)
			o.Lost = s == 4
			f.Objects = []rules.Object{o}
		}, []int{13}},
		{"again not before long, and then at once", rules.Rule{When: rules.Present, For: 3 * time.Second, Again: 20 * time.Second}, func(s int, f *rules.Frame) {
			o := person(5)
			o.ID = uint32(1 + s/10)
			f.Objects = []rules.Object{o}
		}, []int{3, 23}},
		{"walking is not still", rules.Rule{When: rules.Still, For: 5 * time.Second}, func(s int, f *rules.Frame) {
			f.Objects = []rules.Object{person(10 * float64(s))}
		}, nil},
		{"still from the last step on", rules.Rule{When: rules.Still, For: 5 * time.Second}, func(s int, f *rules.Frame) {
			f.Objects = []rules.Object{person(30 * float64(min(s, 10)))}
		}, []int{15}},
		{"nobody", rules.Rule{When: rules.Absent, For: 5 * time.Second}, func(s int, f *rules.Frame) {
			if s < 7 {
				f.Objects = []rules.Object{person(5)}
			}
		}, []int{11}},
		{"nobody of its classes", rules.Rule{When: rules.Absent, For: 5 * time.Second, Classes: []string{"car"}}, always, []int{5}},
		{"no frames are not nobody", rules.Rule{When: rules.Absent, For: 20 * time.Second}, func(s int, f *rules.Frame) {
			if s >= 10 {
				f.Time += 30 * time.Second
			}
		}, []int{30}},
		{"a zone that is no more has nobody in it, and the rule rests", rules.Rule{When: rules.Absent, Zone: "porch", For: 5 * time.Second}, func(s int, f *rules.Frame) {
			if s < 10 {
				f.Layout = zones.Layout{}
			}
		}, []int{14}},
		{"only by the schedule", rules.Rule{When: rules.Present, For: 3 * time.Second, Schedule: []rules.Span{{Days: []rules.Day{"tue"}}}}, func(s int, f *rules.Frame) {
			always(s, f)
			f.Wall = night.Add(time.Hour - 10*time.Second).Add(time.Duration(s) * time.Second)
		}, []int{10}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.rule.Name = "a"
			assert.Equal(t, tt.want, play(t, tt.rule, 40, tt.at), "told at")
		})
	}
}

func TestSpan(t *testing.T) {
	for _, tt := range []struct {
		span rules.Span
		at   string // of the week that begins on Sunday 29 November 2026
		want bool
	}{
		{rules.Span{}, "29 12:00", true},
		{rules.Span{Days: []rules.Day{"mon"}}, "29 23:59", false},
		{rules.Span{Days: []rules.Day{"mon"}}, "30 00:00", true},
		{rules.Span{From: "08:00", To: "17:30"}, "30 07:59", false},
		{rules.Span{From: "08:00", To: "17:30"}, "30 08:00", true},
		{rules.Span{From: "08:00", To: "17:30"}, "30 17:30", false},
		{rules.Span{Days: []rules.Day{"sun"}, From: "22:00", To: "06:00"}, "29 05:00", false}, // Saturday's night
		{rules.Span{Days: []rules.Day{"sun"}, From: "22:00", To: "06:00"}, "29 22:00", true},
		{rules.Span{Days: []rules.Day{"sun"}, From: "22:00", To: "06:00"}, "30 05:59", true},
		{rules.Span{Days: []rules.Day{"sun"}, From: "22:00", To: "06:00"}, "30 22:00", false},
		{rules.Span{From: "12:00", To: "12:00"}, "30 11:00", true},
	} {
		at, err := time.Parse("2 15:04 Jan 2006", tt.at+" Nov 2026")
		require.NoError(t, err)
		assert.Equal(t, tt.want, tt.span.Has(at), "%v at %s is", tt.span, tt.at)
	}
}

func TestFaults(t *testing.T) {
	var got []string
	for _, f := range rules.Faults([]rules.Rule{{When: "gone", For: time.Millisecond, Again: -1, Zone: "yard", Schedule: []rules.Span{{Days: []rules.Day{"monday"}}, {From: "6:00", To: "12:00"}, {From: "06:00"}}}}, layout) {
		got = append(got, f.Error())
	}
	want := []string{
		`rules[0].when: "gone"; accepted: present, still or absent`,
		`rules[0].for: 1ms; accepted: 1s or more, such as 10s`,
		`rules[0].again: -1ns; accepted: 0s or more, such as 5m`,
		`rules[0].zone: "yard"; accepted: one of the camera's zones, porch`,
		`rules[0].schedule[0]: day "monday"; accepted: sun, mon, tue, wed, thu, fri, sat`,
		`rules[0].schedule[1]: from "6:00" to "12:00"; accepted: times of day such as 22:00 and 06:00, or neither`,
		`rules[0].schedule[2]: from "06:00" to ""; accepted: times of day such as 22:00 and 06:00, or neither`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("faults:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if f := rules.Faults(make([]rules.Rule, rules.MaxRules+1), layout); f[0].Field != "rules" {
		t.Errorf("%d rules: %v", rules.MaxRules+1, f[0])
	}
	_, err := rules.New([]rules.Rule{{}}, layout)
	assert.Error(t, err, "a faulty rule is accepted")
}

func TestSentence(t *testing.T) {
	for _, tt := range []struct {
		rule rules.Rule
		want string
	}{
		{rules.Rule{When: rules.Present, Classes: []string{"person"}, Zone: "porch", For: 10 * time.Second, Again: time.Minute}, "when a person has been in zone porch for 10s, once in 1m0s at most"},
		{rules.Rule{When: rules.Still, Classes: []string{"car", "umbrella"}, For: time.Minute, Schedule: []rules.Span{{Days: []rules.Day{"mon", "fri"}, From: "22:00", To: "06:00"}, {Days: []rules.Day{"sun"}}}},
			"when a car or an umbrella has stood still in the picture for 1m0s, on mon, fri from 22:00 to 06:00 and on sun"},
		{rules.Rule{When: rules.Absent, For: time.Hour}, "when no object has been in the picture for 1h0m0s"},
	} {
		assert.Equal(t, tt.want, tt.rule.String())
	}
}
