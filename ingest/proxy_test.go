package ingest

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/netfault"
)

// throughProxy returns a proxy to the camera at address, and the address to dial
// instead.
func throughProxy(t testing.TB, address string) (*netfault.Proxy, string) {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	p, err := netfault.New(u.Host)
	require.NoError(t, err)
	t.Cleanup(p.Close)
	u.Host = p.Addr()
	return p, u.String()
}

// A network that fails in each of its ways, and is well again: frames go on, with
// what was not there counted, and Run ends when told to.
func TestNetworkFaults(t *testing.T) {
	for _, tc := range []struct {
		name       string
		fault      func(p *netfault.Proxy)
		reconnects int
		why        error // of going down; nil: whatever it is called
	}{
		{"cut", (*netfault.Proxy).Cut, 1, nil},
		{"half open", func(p *netfault.Proxy) { p.Freeze(false) }, 1, ErrStalled},
		{"corrupted", (*netfault.Proxy).Corrupt, 1, nil},
		{"delayed", func(p *netfault.Proxy) { p.Freeze(false); time.Sleep(300 * time.Millisecond); p.Thaw() }, 0, nil},
		{"all silent, then well", func(p *netfault.Proxy) {
			p.Freeze(true)
			time.Sleep(1500 * time.Millisecond) // so that redialling meets the silence too
			p.Mend()
		}, 1, ErrStalled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, clip(t, clipConfig), demo.Config{})
			p, address := throughProxy(t, s.URL())
			cfg := testConfig(address, "tcp")
			cfg.StallTimeout = 10 * patience // nothing here may need it
			w := start(t, cfg)
			w.take(10)
			tc.fault(p)
			e := &w.events
			eventually(t, "the camera is up again", func() bool {
				e.mu.Lock()
				defer e.mu.Unlock()
				return e.reconnects >= tc.reconnects
			})
			for len(w.frames) > 0 { // of before
				w.take(1)
			}
			w.take(10)
			assert.ErrorIs(t, w.stop(), context.Canceled, "Run returned")
			// On a machine that is slow for a while a second connection may be quicker, and
			// have taken over just before the end.
			if e.ups != e.reconnects+1 || e.reconnects < tc.reconnects || e.downs < e.reconnects || e.downs > e.reconnects+1 {
				t.Errorf("events: %+v; down because of %v", e, e.lastDown)
			}
			if tc.why != nil {
				mustWrap(t, e.lastDown, tc.why)
			}
		})
	}
}
