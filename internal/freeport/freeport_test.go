package freeport

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What one process is handed is never another's, nor one's at which a program listens, and each is
// handed out once before any is again.
func TestAddrs(t *testing.T) {
	one, err := reserve(highest)
	require.NoError(t, err)
	defer one.lock.Close()
	two, err := reserve(highest)
	require.NoError(t, err)
	defer two.lock.Close()

	if l, err := net.Listen("tcp", loopback(one.first)); err == nil {
		_ = l.Close()
		t.Error("another process can have the block, too")
	}

	taken, err := net.Listen("tcp", loopback(one.first+3))
	require.NoError(t, err)
	defer taken.Close()
	seen := map[string]bool{taken.Addr().String(): true, one.lock.Addr().String(): true, two.lock.Addr().String(): true}
	for b, n := range map[*block]int{one: blockSize - 2, two: blockSize - 1} {
		var first string
		for i := range n {
			addr, err := b.take()
			require.NoError(t, err)
			if seen[addr] {
				t.Fatalf("%s was handed out before", addr)
			}
			seen[addr] = true
			if i == 0 {
				first = addr
			}
			l, err := net.Listen("tcp", addr)
			require.NoError(t, err)
			_ = l.Close()
		}
		if again, err := b.take(); err != nil || again != first {
			t.Errorf("after all: %s, %v; want %s", again, err, first)
		}
	}

	addrs, err := Addrs(3)
	if err != nil || len(addrs) != 3 || addrs[0] == addrs[1] || addrs[1] == addrs[2] {
		t.Errorf("%v, %v", addrs, err)
	}
}

func TestFull(t *testing.T) {
	one, err := reserve(highest)
	require.NoError(t, err)
	defer one.lock.Close()
	for i := 1; i < blockSize; i++ {
		l, err := net.Listen("tcp", loopback(one.first+i))
		require.NoError(t, err)
		defer l.Close()
	}
	if addr, err := one.take(); err == nil {
		t.Errorf("%s of a block without a free port", addr)
	}
	if b, err := reserve(lowest + blockSize - 1); err == nil {
		t.Errorf("a block at %d where there is room for none", b.first)
	}
}

func TestHighestOf(t *testing.T) {
	for text, want := range map[string]int{
		"32768\t60999\n": highest,
		"16000\t65535\n": 16000,
		"40000 50000\n":  highest,
		"1024\t65535\n":  highest, // the system gives from all: blocks still keep processes apart
		"garbage":        highest,
		"":               highest,
	} {
		file := filepath.Join(t.TempDir(), "range")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		assert.Equal(t, want, highestOf(file), "%q", text)
	}
	assert.Equal(t, highest, highestOf(filepath.Join(t.TempDir(), "none")), "no file")
}
