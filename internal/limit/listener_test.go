package limit

import (
	"io"
	"net"
	"net/netip"
	"testing"
)

// Of one client so many connections are taken that are neither closed nor trusted, whatever others have.
func TestListener(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := Listen(inner, 2)
	defer l.Close()
	dial := func() net.Conn {
		t.Helper()
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	accept := func() *Conn {
		t.Helper()
		dial()
		conn, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return conn.(*Conn)
	}
	// refused dials once too often, and once more when next has made room.
	refused := func(next func()) *Conn {
		t.Helper()
		taken := make(chan net.Conn)
		go func() {
			conn, err := l.Accept()
			if err != nil {
				t.Error(err)
			}
			taken <- conn
		}()
		if _, err := io.ReadAll(dial()); err != nil { // it is closed
			t.Fatal(err)
		}
		next()
		dial()
		return (<-taken).(*Conn)
	}
	first, second := accept(), accept()
	client := Client(netip.MustParseAddr("127.0.0.1"))
	if first.Client != client {
		t.Errorf("it is of %v, want %v", first.Client, client)
	}
	refused(func() { _ = first.Close() })
	third := refused(second.Trust)
	if err := second.Close(); err != nil { // which makes no room again
		t.Fatal(err)
	}
	refused(func() { _ = third.Close(); _ = third.Close() })
	if n := l.conns[client]; len(l.conns) != 1 || n != 2 {
		t.Errorf("%v are counted, want 2", l.conns)
	}
}
