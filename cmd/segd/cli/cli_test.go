package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestStyle(t *testing.T) {
	for _, tc := range []struct {
		name     string
		terminal bool
		environ  map[string]string
		want     Style
	}{
		{"terminal", true, map[string]string{"TERM": "xterm"}, true},
		{"file", false, map[string]string{"TERM": "xterm"}, false},
		{"NO_COLOR", true, map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, false},
		{"empty NO_COLOR", true, map[string]string{"TERM": "xterm", "NO_COLOR": ""}, true},
		{"dumb", true, map[string]string{"TERM": "dumb"}, false},
	} {
		assert.Equal(t, tc.want, styleFor(tc.terminal, func(key string) string { return tc.environ[key] }), "%s", tc.name)
	}
	assert.Equal(t, "\x1b[1;31mx\x1b[0m", Style(true).Bad("x"))
	assert.Equal(t, "x", Style(false).Bad("x"))
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"Tür 3 – 12×4":                  "Tür 3 – 12×4",
		"a\x1b[2J\r\n\tb\x7f\u009b":     `a\x1b[2J\r\n\tb\x7f\u009b`,
		"left\u202eright\u2066\u2028":   `left\u202eright\u2066\u2028`,
		"no UTF-8: \xff\xc3\x28":        `no UTF-8: \xff\xc3(`,
		`"quoted" and C:\ stay`:         `"quoted" and C:\ stay`,
		"\ufffd was not read by others": "\ufffd was not read by others",
	} {
		assert.Equal(t, want, Printable(text), "Printable(%q)", text)
	}
}

func TestObjectName(t *testing.T) {
	for _, tt := range []struct {
		id          uint32
		label, want string
	}{
		{7, "person", "person 7"}, {7, "", "object 7"}, {7, "object 7", "object 7"}, {7, "gate 17", "gate 17 7"}, {7, "7", "7"},
	} {
		assert.Equal(t, tt.want, ObjectName(tt.id, tt.label), "object %d with label %q is called", tt.id, tt.label)
	}
}
