package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/internal/keypair/keypairtest"
)

func TestTLS(t *testing.T) {
	certFile, keyFile := keypairtest.Write(t, t.TempDir(), 1)
	s, err := New(Config{Addr: "127.0.0.1:0", TLSCert: certFile, TLSKey: keyFile})
	require.NoError(t, err)
	require.NoError(t, s.Listen())
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	defer func() {
		cancel()
		assert.NoError(t, <-ended)
	}()
	text, err := os.ReadFile(certFile)
	require.NoError(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}}
	if !strings.HasPrefix(s.URL(), "https://127.0.0.1:") {
		t.Fatalf("URL %s", s.URL())
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"livez", nil)
	require.NoError(t, err)
	resp, err := client.Do(req)
	require.NoError(t, err)
	_ = resp.Body.Close()
	if resp.StatusCode != 200 || resp.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("%s, %v", resp.Status, resp.Header)
	}
	if resp, err := http.Get(strings.Replace(s.URL(), "https", "http", 1)); err == nil { //nolint:noctx // it must fail at once
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("without TLS: %s", resp.Status)
		}
	}
}

func TestTLSFaults(t *testing.T) {
	dir := t.TempDir()
	certFile, keyFile := keypairtest.Write(t, dir, 1)
	for name, cfg := range map[string]Config{
		"key alone":      {TLSKey: keyFile},
		"no such file":   {TLSCert: filepath.Join(dir, "gone.crt"), TLSKey: keyFile},
		"the other way":  {TLSCert: keyFile, TLSKey: certFile},
		"the same twice": {TLSCert: certFile, TLSKey: certFile},
	} {
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), "TLS") || !strings.Contains(err.Error(), "accepts") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
