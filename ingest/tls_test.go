package ingest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/bluenviron/gortsplib/v5"
	"github.com/bluenviron/gortsplib/v5/pkg/description"
	"github.com/bluenviron/gortsplib/v5/pkg/format"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// selfSigned is a certificate as cameras make it for themselves.
func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// A camera with a certificate of its own making is trusted by its fingerprint and
// by nothing else.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	cert := selfSigned(t)
	cam := serveRawBy(t, &gortsplib.Server{TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}}}, h264Media())
	cfg := testConfig(strings.Replace(cam.url(), "rtsp:", "rtsps:", 1), "tcp")
	cfg.StallTimeout = patience // however slow this machine is
	right := fmt.Sprintf("%x", sha256.Sum256(cert.Certificate[0]))

	err := probe(context.Background(), cfg)
	mustWrap(t, err, ErrCertificate)
	assert.Contains(t, err.Error(), right, "error %q does not tell the fingerprint", err)
	cfg.Fingerprint = strings.Repeat("ab:", 31) + "cd"
	err = probe(context.Background(), cfg)
	mustWrap(t, err, ErrCertificate)
	if !strings.Contains(err.Error(), "another TLS certificate") || !strings.Contains(err.Error(), right) {
		t.Errorf("error %q", err)
	}
	cfg.Fingerprint = strings.ToUpper(right)
	w := start(t, cfg)
	cam.player()
	for _, p := range packets(t, clipConfig, 3) {
		cam.send(p.Data)
	}
	w.take(3)

	cfg.Fingerprint = "12:34"
	_, err = Open(cfg)
	mustWrap(t, err, ErrConfig)
}

// MJPEG, of which every frame is a key frame.
func TestMJPEG(t *testing.T) {
	t.Parallel()
	f := &format.MJPEG{}
	cam := serveRaw(t, &description.Media{Type: description.MediaTypeVideo, Formats: []format.Format{f}})
	enc, err := f.CreateEncoder()
	require.NoError(t, err)
	w := start(t, testConfig(cam.url(), "tcp"))
	cam.player()
	const frames, width, height = 5, 128, 96
	for i := range frames {
		pkts, err := enc.Encode(numberedJPEG(t, width, height, i))
		require.NoError(t, err)
		for _, p := range pkts {
			p.Timestamp = uint32(i) * 3600
			require.NoError(t, cam.stream.WritePacketRTP(cam.media, p))
		}
	}
	for i, f := range w.take(frames) {
		if f.number != i || f.Width != width || f.Height != height || f.Damaged {
			t.Errorf("frame %d shows picture %d: %+v", i, f.number, f.Frame)
		}
		if want := time.Duration(i) * 40 * time.Millisecond; (f.PTS - want).Abs() > time.Millisecond {
			t.Errorf("frame %d has PTS %v, want %v", i, f.PTS, want)
		}
	}
}
