package main

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"testing"

	"github.com/segd/segd/config"
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

// Boxes with the same tokens know one another, and nobody else is one.
func TestBoxKeys(t *testing.T) {
	fleet := func(site, operator, viewer, publisher string) *boxKeys {
		k, err := newBoxKeys(&config.Config{Site: site, HTTP: config.HTTP{Token: operator, ViewerToken: viewer}, WHIP: config.WHIP{Token: publisher}})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	end := func(k *boxKeys, box, end string) *tls.Config {
		c, err := k.tls(box, end)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	ours := fleet("home", "a", "b", "c")
	open := fleet("home", "", "", "")
	for _, tt := range []struct {
		name   string
		asking *tls.Config
		asked  *tls.Config
		ok     bool
	}{
		{"the same", end(fleet("home", "a", "b", "c"), "one", endClient), end(ours, "one", endServer), true},
		{"no tokens", end(fleet("home", "", "", ""), "one", endClient), end(open, "one", endServer), true},
		{"another operator's token", end(fleet("home", "x", "b", "c"), "one", endClient), end(ours, "one", endServer), false},
		{"another viewer's token", end(fleet("home", "a", "x", "c"), "one", endClient), end(ours, "one", endServer), false},
		{"another publisher's token", end(fleet("home", "a", "b", "x"), "one", endClient), end(ours, "one", endServer), false},
		{"tokens in other places", end(fleet("home", "b", "a", "c"), "one", endClient), end(ours, "one", endServer), false},
		{"another site", end(fleet("yard", "a", "b", "c"), "one", endClient), end(ours, "one", endServer), false},
		{"tokens on one box only", end(open, "one", endClient), end(ours, "one", endServer), false},
		{"tokens on the other box only", end(ours, "one", endClient), end(open, "one", endServer), false},
		{"another box answers", end(ours, "one", endClient), end(ours, "two", endServer), false},
		{"who is asked asks", end(ours, "one", endServer), end(ours, "one", endServer), false},
		{"who asks is asked", end(ours, "one", endClient), end(ours, "one", endClient), false},
	} {
		askedErr, askingErr := meet(t, tt.asked, tt.asking)
		if ok := askedErr == nil && askingErr == nil; ok != tt.ok {
			t.Errorf("%s: asked %v, asking %v; want that they meet: %v", tt.name, askedErr, askingErr, tt.ok)
		}
		if !tt.ok && !errors.Is(askingErr, errOtherTokens) {
			t.Errorf("%s: %v; want %q", tt.name, askingErr, errOtherTokens)
		}
	}

	// Somebody who does not care whom they ask is not answered.
	stranger := end(fleet("home", "x", "", ""), "one", endClient)
	stranger.VerifyConnection = nil
	if err, _ := meet(t, end(ours, "one", endServer), stranger); !errors.Is(err, errOtherTokens) {
		t.Errorf("a stranger: %v", err)
	}
	stranger.Certificates = nil
	if err, _ := meet(t, end(ours, "one", endServer), stranger); err == nil {
		t.Error("somebody without a key is answered")
	}
}

// What is handed on tells who asks, as this box has found, and has no credentials.
func TestHandOn(t *testing.T) {
	in := httptest.NewRequest(http.MethodGet, "http://box.example/api/v1/cameras/gate/live?window=2&token=secret&access_token=secret", http.NoBody)
	for name, value := range map[string]string{
		"Authorization": "Bearer secret", "Proxy-Authorization": "Basic secret", "Cookie": "segd_session=secret",
		forwardedAs: "operator", forwardedFor: "127.0.0.1:1", "Origin": "https://box.example",
	} {
		in.Header.Set(name, value)
	}
	in.RemoteAddr = "192.0.2.7:1234"
	in = in.WithContext(withHolder(in.Context(), holder{"one", "viewer"}))
	out := in.Clone(in.Context())
	handOn(&httputil.ProxyRequest{In: in, Out: out})
	want := http.Header{forwardedAs: {"viewer"}, forwardedFor: {"192.0.2.7:1234"}, "Origin": {"https://box.example"}}
	if len(out.Header) != len(want) {
		t.Errorf("headers %q, want %q", out.Header, want)
	}
	for name := range want {
		if out.Header.Get(name) != want.Get(name) {
			t.Errorf("%s: %q, want %q", name, out.Header[name], want[name])
		}
	}
	if got := out.URL.String(); got != "http://one/api/v1/cameras/gate/live?window=2" || out.Host != "box.example" {
		t.Errorf("%s, host %s", got, out.Host)
	}
}
