package limit

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

func TestSpend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New[string]()
		for i := range Burst / CostLarge {
			if wait, ok := l.Spend("a", CostLarge); !ok {
				t.Fatalf("request %d is to wait %d s", i, wait)
			}
		}
		if wait, ok := l.Spend("a", CostLarge); ok || wait != 1 {
			t.Errorf("beyond the burst: %v, to wait %d s; want 1", ok, wait)
		}
		if _, ok := l.Spend("b", CostLarge); !ok {
			t.Error("another one pays for it")
		}
		time.Sleep(time.Second)
		for i := range PerSecond {
			if _, ok := l.Spend("a", CostRead); !ok {
				t.Fatalf("%d of %d after a second", i, PerSecond)
			}
		}
		if _, ok := l.Spend("a", CostRead); ok {
			t.Error("more than a second's allowance after a second")
		}
	})
}

// However many ask, few are remembered, and those that have spent something longest.
func TestKeysAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New[int]()
		l.Spend(-1, Burst)
		for i := range MaxKeys - 1 {
			l.Spend(i, CostRead)
		}
		time.Sleep(time.Second / PerSecond) // all but the first have their whole allowance again
		l.Spend(MaxKeys, CostRead)
		if n := l.Len(); n != 2 {
			t.Errorf("%d are remembered, want the one that has spent much and the new one", n)
		}
		if _, ok := l.Spend(-1, CostLarge); ok {
			t.Error("who has spent all begins anew")
		}
		for i := range 3 * MaxKeys {
			l.Spend(i, CostRead)
			if n := l.Len(); n > MaxKeys {
				t.Fatalf("%d are remembered", n)
			}
		}
	})
}

func TestClient(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1": "192.0.2.1/32", "::ffff:192.0.2.1": "192.0.2.1/32", "2001:db8::2:0:0:2": "2001:db8::/64", "fe80::1%eth0": "fe80::/64",
	} {
		if got := Client(netip.MustParseAddr(addr)); got.String() != want {
			t.Errorf("%s is of %v, want %s", addr, got, want)
		}
	}
	if got := Client(netip.Addr{}); got != (netip.Prefix{}) {
		t.Errorf("no address is of %v", got)
	}
}
