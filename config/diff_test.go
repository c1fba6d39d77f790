package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDiff(t *testing.T) {
	const gate, yard = "{name: gate, url: 'rtsp://a/'}", "{name: yard, url: 'whip:'}"
	const seen = "{name: seen, url: 'whip:', detect: {classes: [person]}}"
	const zone = "zones: [{name: door, polygon: [[0, 0], [1, 0], [1, 1]]}]"
	for _, tt := range []struct {
		name, before, after string
		want                Difference
	}{
		{"nothing", "", "", Difference{}},
		{"a default that is written down", "", "site: home\nlog: {level: info}\n", Difference{}},
		{"an empty list", "", "http: {trusted_proxies: []}\n", Difference{}},
		{
			"settings", "", "site: here\nhttp: {addr: '127.0.0.1:1', tls: {cert: a, key: b}}\nmodel: {mean: [1, 2, 3], std: [1, 2, 3]}\nlog: {level: debug}\n",
			Difference{Settings: []string{"site", "http.addr", "http.tls.cert", "http.tls.key", "model.mean", "model.std", "log.level"}},
		},
		{
			"within a list", "nats: {users: [{name: a, password: 0123456789abcdef, role: admin}]}\n", "nats: {users: [{name: a, password: 0123456789abcdeg, role: admin}]}\n",
			Difference{Settings: []string{"nats.users"}},
		},
		{"the order of the cameras", cameras(gate, yard), cameras(yard, gate), Difference{}},
		{
			"cameras come and go", cameras(gate, "{name: old, url: 'whip:'}"), cameras("{name: new, url: 'whip:'}", gate, yard),
			Difference{Added: []string{"new", "yard"}, Removed: []string{"old"}},
		},
		{
			"of a camera", cameras(gate, yard), cameras("{name: gate, url: 'rtsp://b/', loop: true, detect: {classes: [person]}}", yard),
			Difference{Changed: []CameraDifference{{"gate", []string{"url", "loop", "detect.classes"}}}},
		},
		{
			"zones", cameras(gate, yard), cameras("{name: gate, url: 'rtsp://a/', "+zone+"}", yard),
			Difference{Changed: []CameraDifference{{"gate", []string{"zones"}}}},
		},
		{
			"what is hidden in all cameras",
			"privacy: {blur: [person]}\n" + cameras(seen, "{name: own, url: 'whip:', detect: {classes: [person]}, privacy: {fill: [person]}}", "{name: off, url: 'whip:', privacy: {off: true}}"),
			"privacy: {blur: [person], margin: 20%}\n" + cameras(seen, "{name: own, url: 'whip:', detect: {classes: [person]}, privacy: {blur: [person]}}", "{name: off, url: 'whip:', privacy: {off: true}}"),
			Difference{Settings: []string{"privacy.margin"}, Changed: []CameraDifference{{"seen", []string{"privacy.margin"}}, {"own", []string{"privacy.blur", "privacy.fill"}}}},
		},
		{
			"a point of a zone", cameras("{name: gate, url: 'whip:', " + zone + "}"), cameras("{name: gate, url: 'whip:', zones: [{name: door, polygon: [[0, 0], [1, 0], [1, 0.9]]}]}"),
			Difference{Changed: []CameraDifference{{"gate", []string{"zones"}}}},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			parse := func(text string) *Config {
				if !strings.Contains(text, "cameras:") {
					text += cameras(gate)
				}
				c, err := Parse("test", []byte(text), nil)
				require.NoError(t, err)
				return c
			}
			assert.Empty(t, cmp.Diff(tt.want, Diff(parse(tt.before), parse(tt.after))))
		})
	}
}

func cameras(all ...string) string {
	text := "cameras:\n"
	for _, c := range all {
		text += "- " + c + "\n"
	}
	return text
}

func TestLayoutOnly(t *testing.T) {
	for want, settings := range map[bool][][]string{
		true:  {{"zones"}, {"lines"}, {"zones", "lines"}},
		false: {{"url"}, {"zones", "url"}, {"detect.zones"}},
	} {
		for _, s := range settings {
			assert.Equal(t, want, (CameraDifference{"a", s}).LayoutOnly(), "%v", s)
		}
	}
}

// Whatever setting is changed is named, by the path that the file has for it.
func TestDiffFindsEverySetting(t *testing.T) {
	r := newReferrer(t)
	var visit func(path string, v reflect.Value, changed func() Difference)
	n := 0
	visit = func(path string, v reflect.Value, changed func() Difference) {
		for i, key := range keys(v.Type()) {
			f, at := v.Field(i), join(path, key)
			before := reflect.New(f.Type()).Elem()
			before.Set(f)
			switch f.Kind() {
			case reflect.Struct:
				visit(at, f, changed)
				continue
			case reflect.String:
				f.SetString(f.String() + "x")
			case reflect.Int:
				f.SetInt(f.Int() + 1)
			case reflect.Float64:
				f.SetFloat(f.Float() + 1)
			case reflect.Bool:
				f.SetBool(!f.Bool())
			case reflect.Slice:
				if at == "cameras" {
					continue
				}
				f.Set(reflect.Append(f, reflect.Zero(f.Type().Elem())))
			default:
				t.Fatalf("%s is of a new kind, %v", at, f.Kind())
			}
			assert.Equal(t, "["+at+"]", fmt.Sprint(changed().Settings), "%s changed, and", at)
			f.Set(before)
			n++
		}
	}
	changed := *r.defaults
	visit("", reflect.ValueOf(&changed).Elem(), func() Difference { return Diff(r.defaults, &changed) })
	if n < 30 {
		t.Errorf("%d settings were changed", n)
	}
}
