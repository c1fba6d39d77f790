package config

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Anchors, aliases and merged mappings stand for what they would be written out as, and a byte order mark for nothing.
func TestAnchors(t *testing.T) {
	const with = "\uFEFFx-camera: &usual\n  transport: tcp\n  detect: &what {classes: [person], max_objects: 3}\n" +
		"x-other: &other {transport: udp, decode: software}\n" +
		"site: &name yard\n" +
		"cameras:\n" +
		"  - {name: a, url: 'rtsp://h/a', <<: *usual}\n" +
		"  - {name: b, url: 'rtsp://h/b', transport: udp, <<: *usual}\n" +
		"  - {<<: [*usual, *other], name: *name, url: 'rtsp://h/c'}\n" +
		"  - {name: d, url: 'rtsp://h/d', detect: *what}\n"
	const without = "site: yard\n" +
		"cameras:\n" +
		"  - {name: a, url: 'rtsp://h/a', transport: tcp, detect: {classes: [person], max_objects: 3}}\n" +
		"  - {name: b, url: 'rtsp://h/b', transport: udp, detect: {classes: [person], max_objects: 3}}\n" +
		"  - {name: yard, url: 'rtsp://h/c', transport: tcp, decode: software, detect: {classes: [person], max_objects: 3}}\n" +
		"  - {name: d, url: 'rtsp://h/d', detect: {classes: [person], max_objects: 3}}\n"
	got, err := Parse("f", []byte(with), nil)
	require.NoError(t, err)
	want, err := Parse("f", []byte(without), nil)
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff(want, got), "-written out +with anchors")
}

// What aliases make of a small file is bounded.
func TestAliasesAreBounded(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"lists":  {"x-a: &a {classes: [" + strings.Repeat("person,", 400) + "]}\ncameras:\n" + strings.Repeat("- {name: a, detect: *a}\n", 400), "more than 50000 values"},
		"merges": {merges(10), "more than 50000 values"},
		"deep":   {merges(40), "merges in merges, 16 deep"},
		"chain":  {"x-a: &a\n  *a\nlog: *a\n", "aliases of aliases, 16 deep"},
		"itself": {"x-a: &a {<<: *a}\nlog: *a\n", "merges in merges, 16 deep"},
	} {
		_, err := Parse("f", []byte(tt.text), nil)
		assert.ErrorContains(t, err, tt.want, "%s", name)
	}
}

// merges is a file of mappings each of which merges the one before four times.
func merges(deep int) string {
	var b strings.Builder
	b.WriteString("x-0: &a0 {level: info}\n")
	for k := 1; k < deep; k++ {
		n, before := strconv.Itoa(k), "*a"+strconv.Itoa(k-1)
		b.WriteString("x-" + n + ": &a" + n + " {<<: [" + before + ", " + before + ", " + before + ", " + before + "]}\n")
	}
	return b.String() + "log: *a" + strconv.Itoa(deep-1) + "\n"
}
