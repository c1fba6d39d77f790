package listen

import (
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"
)

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "127.0.0.1": true, "127.8.9.1": true, "::1": true, "[::1]": true, "::1%lo": true, "::ffff:127.0.0.1": true,
		"": false, "0.0.0.0": false, "::": false, "192.0.2.1": false, "fe80::1%lo": false, "localhost.example.net": false, "127.1": false, "gate": false,
	} {
		if got := Loopback(host); got != want {
			t.Errorf("%q: %v", host, got)
		}
	}
}

func TestExplain(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{syscall.EADDRINUSE, "web: 192.0.2.1:80 is already in use: another segd or another program listens there; accepts: another http.addr ("},
		{syscall.EACCES, "web: 192.0.2.1:80 needs a right segd does not have; accepts: a port above 1023 in http.addr ("},
		{syscall.EADDRNOTAVAIL, "web: 192.0.2.1:80 is not an address of this machine; accepts: another http.addr ("},
		{syscall.EMFILE, "web: listening on 192.0.2.1:80: "},
	} {
		err := Explain("web", "http.addr", "192.0.2.1:80", &net.OpError{Op: "listen", Net: "tcp", Err: tc.err})
		if !strings.HasPrefix(err.Error(), tc.want) || !errors.Is(err, tc.err) {
			t.Errorf("%v; want %q…", err, tc.want)
		}
	}
}
