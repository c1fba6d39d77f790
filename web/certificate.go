package web

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// certificateCheck is how long a certificate is used before its files are looked at.
const certificateCheck = 10 * time.Second

// certificate is a certificate in files, read again when they change: one that is
// renewed every few weeks must not need a restart.
type certificate struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	pair    *tls.Certificate
	written [2]time.Time // of the files, when they were read
	checked time.Time
}

func newCertificate(certFile, keyFile string, log *slog.Logger) (*certificate, error) {
	c := &certificate{certFile: certFile, keyFile: keyFile, log: log}
	written, err := c.times()
	if err == nil {
		err = c.read(written)
	}
	if err != nil {
		return nil, fmt.Errorf("web: TLS: %w; accepts PEM files of a certificate and its key", err)
	}
	c.checked = time.Now()
	return c, nil
}

func (c *certificate) times() (written [2]time.Time, err error) {
	for i, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return written, err
		}
		written[i] = info.ModTime()
	}
	return written, nil
}

func (c *certificate) read(written [2]time.Time) error {
	pair, err := tls.LoadX509KeyPair(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("%s and %s: %w", c.certFile, c.keyFile, err)
	}
	c.pair, c.written = &pair, written
	return nil
}

// get is for tls.Config.GetCertificate. Files that cannot be read, perhaps because
// they are just being written, leave the certificate as it is.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.checked) >= certificateCheck {
		c.checked = now
		written, err := c.times()
		if err == nil && written != c.written {
			if err = c.read(written); err == nil {
				c.log.Info("certificate read again", "file", c.certFile)
			}
		}
		if err != nil {
			c.log.Warn("certificate not read again, the old one stays in use", "error", err)
		}
	}
	return c.pair, nil
}
