// Package keypair serves a certificate from files that may be renewed while it is used.
// A Pair may be used from any goroutine.
package keypair

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/segd/segd/internal/files"
)

// recheck is how long a certificate is used before its files are looked at.
const recheck = 10 * time.Second

// Pair is a certificate and its key in files, read again when they change:
// one that is renewed every few weeks must not need a restart.
type Pair struct {
	certFile, keyFile string
	log               *slog.Logger

	mu      sync.Mutex
	pair    *tls.Certificate
	written [2]time.Time // of the files, when they were read
	checked time.Time
}

// Open reads the pair, PEM. The error names the files.
func Open(certFile, keyFile string, log *slog.Logger) (*Pair, error) {
	c := &Pair{certFile: certFile, keyFile: keyFile, log: log}
	written, err := c.times()
	if err == nil {
		err = c.read(written)
	}
	if err != nil {
		return nil, fmt.Errorf("TLS: %w; accepts PEM files of a certificate and its key", err)
	}
	c.checked = time.Now()
	return c, nil
}

func (c *Pair) times() (written [2]time.Time, err error) {
	for i, name := range []string{c.certFile, c.keyFile} {
		info, err := os.Stat(name)
		if err != nil {
			return written, err
		}
		written[i] = info.ModTime()
	}
	return written, nil
}

func (c *Pair) read(written [2]time.Time) error {
	pair, err := Read(c.certFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("%s and %s: %w", c.certFile, c.keyFile, err)
	}
	c.pair, c.written = &pair, written
	return nil
}

// Read reads a pair once.
func Read(certFile, keyFile string) (pair tls.Certificate, err error) {
	var text [2][]byte
	for i, name := range []string{certFile, keyFile} {
		if text[i], err = files.Read(context.Background(), name, files.PEM); err != nil {
			return pair, err
		}
	}
	return tls.X509KeyPair(text[0], text[1])
}

// Certificates reads the certificates of whom to trust, PEM.
func Certificates(file string) (*x509.CertPool, error) {
	text, err := files.Read(context.Background(), file, files.PEM)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errors.New("no certificate in it")
	}
	return pool, nil
}

// Get is for tls.Config.GetCertificate. Files that cannot be read, perhaps because
// they are just being written, leave the certificate as it is.
func (c *Pair) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.checked) >= recheck {
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
