package boxlink

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAddress(t *testing.T) {
	for _, tt := range []struct{ page, local, want string }{
		{"http://192.0.2.7:8080/", "198.51.100.1:5", "http://192.0.2.7:8080/"},
		{"https://[2001:db8::7]:8443/", "", "https://[2001:db8::7]:8443/"},
		{"http://[::]:8080/", "198.51.100.1:5", "http://198.51.100.1:8080/"},
		{"https://0.0.0.0:8443/", "[2001:db8::1]:5", "https://[2001:db8::1]:8443/"},
		{"http://0.0.0.0:8080/", "[::ffff:198.51.100.1]:5", "http://198.51.100.1:8080/"},
		{"http://127.0.0.1:8080/", "198.51.100.1:5", "http://127.0.0.1:8080/"},
		{"http://[::", "198.51.100.1:5", ""},
	} {
		assert.Equal(t, tt.want, Address(tt.page, tt.local), "a page at %q, and %q towards NATS", tt.page, tt.local)
	}
	// With the NATS server on this machine, or away, it is what this machine's route says, or none without a route.
	own, err := outward()
	for _, local := range []string{"127.0.0.1:5", ""} {
		got := Address("http://0.0.0.0:8080/", local)
		if at, parseErr := url.Parse(got); parseErr != nil || err == nil && at.Host != own.Addr().String()+":8080" || err != nil && got != "" {
			t.Errorf("%q towards NATS: %q; want that of %v, %v", local, got, own, err)
		}
	}
}

func TestLoopback(t *testing.T) {
	for page, want := range map[string]bool{
		"http://127.0.0.1:8080/": true, "https://[::1]:8080/": true, "http://localhost:8080/": true,
		"http://192.0.2.7:8080/": false, "http://box-a:8080/": false, "": false, "http://[::": false,
	} {
		assert.Equal(t, want, Loopback(page), "%q", page)
	}
}
