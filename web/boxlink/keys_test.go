package boxlink

import (
	"crypto/tls"
	"errors"
	"net"
	"testing"
)

// meet has the two ends of a connection meet, and returns what each makes of it.
func meet(t *testing.T, asked, asking *tls.Config) (askedErr, askingErr error) {
	t.Helper()
	a, b := net.Pipe()
	ended := make(chan error, 1)
	go func() {
		conn := tls.Server(a, asked)
		err := conn.HandshakeContext(t.Context())
		if err == nil {
			_, err = conn.Write([]byte("x"))
		}
		ended <- errors.Join(err, a.Close())
	}()
	conn := tls.Client(b, asking)
	askingErr = conn.HandshakeContext(t.Context())
	if askingErr == nil {
		_, askingErr = conn.Read(make([]byte, 1))
	}
	b.Close()
	return <-ended, askingErr
}

// Boxes with the same secret know one another, and no other host is one.
func TestKeys(t *testing.T) {
	end := func(secret, box, end string) *tls.Config {
		c, err := keys{[]byte(secret)}.tls(box, end)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	const ours = "a secret"
	for _, tt := range []struct {
		name   string
		asking *tls.Config
		asked  *tls.Config
		ok     bool
	}{
		{"the same", end(ours, "one", endClient), end(ours, "one", endServer), true},
		{"another secret", end("another", "one", endClient), end(ours, "one", endServer), false},
		{"none", end("", "one", endClient), end(ours, "one", endServer), false},
		{"another box answers", end(ours, "one", endClient), end(ours, "two", endServer), false},
		{"who is asked asks", end(ours, "one", endServer), end(ours, "one", endServer), false},
		{"who asks is asked", end(ours, "one", endClient), end(ours, "one", endClient), false},
	} {
		askedErr, askingErr := meet(t, tt.asked, tt.asking)
		if ok := askedErr == nil && askingErr == nil; ok != tt.ok {
			t.Errorf("%s: asked %v, asking %v; want that they meet: %v", tt.name, askedErr, askingErr, tt.ok)
		}
		if !tt.ok && !errors.Is(askingErr, ErrStranger) {
			t.Errorf("%s: %v; want %q", tt.name, askingErr, ErrStranger)
		}
	}

	// A client that does not care which box it asks is not answered.
	stranger := end("another", "one", endClient)
	stranger.VerifyConnection = nil
	if err, _ := meet(t, end(ours, "one", endServer), stranger); !errors.Is(err, ErrStranger) {
		t.Errorf("a stranger: %v", err)
	}
	stranger.Certificates = nil
	if err, _ := meet(t, end(ours, "one", endServer), stranger); err == nil {
		t.Error("somebody without a key is answered")
	}
}
