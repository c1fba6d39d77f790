package limit

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestTextOf(t *testing.T) {
	for field, want := range map[string]int{
		"site": MaxName, "cameras[3].name": MaxName, "cameras[0].url": MaxURL, "/url": MaxURL, "nats.url": MaxURL, "/zones/0/name": MaxName,
		"cameras[0].detect.zones[1]": MaxName, "/detect/zones/1": MaxName, "http.tls.key": MaxPath, "model.path": MaxPath, "http.token": MaxSecret,
		"/password": MaxSecret, "/user": MaxText, "model.taps[7]": MaxText, "log.level": MaxText, "": MaxText, "[0]": MaxText,
	} {
		assert.Equal(t, want, TextOf(field), "%q", field)
	}
	if TooLong("site", strings.Repeat("x", MaxName)) != "" || TooLong("site", strings.Repeat("x", MaxName+1)) != "65 bytes; accepted: at most 64" {
		t.Error("a name of 64 or 65 bytes")
	}
}

func TestLongText(t *testing.T) {
	long := strings.Repeat("x", 5000)
	for _, tt := range []struct{ text, at, why string }{
		{`{"name": "a", "zones": [{"name": "b", "n": 1}], "no": null, "on": true}`, "", ""},
		{`{"name": "a", "zones": [{"name": "b"}, {"name": "LONG"}]}`, "/zones/1/name", "5000 bytes; accepted: at most 64"},
		{`{"url": "LONG"}`, "/url", "5000 bytes; accepted: at most 2048"},
		{`{"a": {"LONG": 1}}`, "/a", "a member whose name has 5000 bytes; accepted: at most 64"},
		{`["LONG"]`, "/0", "5000 bytes; accepted: at most 256"},
	} {
		if at, why := LongJSON([]byte(strings.ReplaceAll(tt.text, "LONG", long))); at != tt.at || why != tt.why {
			t.Errorf("%s: %q, %q", tt.text, at, why)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""}, {"abcd", "abcd"}, {"abcde", "abcd… (5 bytes)"}, {"abcé", "abc… (5 bytes)"}, {"\x80\x80\x80\x80\x80", "… (5 bytes)"},
	} {
		if got := Cut(tt.text, 4); got != tt.want || utf8.ValidString(tt.text) && !utf8.ValidString(got) {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

// docs/api.md has the list.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/api.md")
	require.NoError(t, err)
	for what, most := range map[string]int{
		"name of a camera, site, zone, line or box": MaxName, "`url`, `page`": MaxURL, "path of a file or folder": MaxPath, "token, password": MaxSecret,
		"any other, and the name of a member": MaxText, "all headers of a request, with its path and query": MaxHeader,
		"a value in a line of segd's log; what is longer is cut there, and its length told": MaxLogged,
	} {
		assert.Contains(t, string(text), fmt.Sprintf("- %s: %d\n", what, most), "docs/api.md")
	}
}
