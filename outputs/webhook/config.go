package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/files"
	"github.com/segd/segd/internal/keypair"
)

// Hook is a server that events are posted to, and which. An empty list means any.
type Hook struct {
	// Name is the hook's in the log and in metrics; no other has it.
	Name string
	// URL is where events are posted to, http or https, without a user.
	URL string
	// Secret is what they are signed with, whsec_ and 24 to 64 bytes as base64, and SecretFile a file with it; both empty: they are
	// not signed.
	Secret, SecretFile string
	// CA is a file with the certificates of whom to trust with the server's, PEM; empty: the machine's own.
	CA string
	// Kinds are names such as object_entered, Zones names of zones and lines.
	Kinds, Cameras, Classes, Zones []string
}

// wants tells whether the hook's server is to hear of ev.
func (h *Hook) wants(ev *segdv1.Event) bool {
	in := func(list []string, names ...string) bool {
		return len(list) == 0 || slices.ContainsFunc(names, func(n string) bool { return n != "" && slices.Contains(list, n) })
	}
	return in(h.Kinds, segdv1.KindName(ev.GetKind())) && in(h.Cameras, ev.GetCamera()) && in(h.Classes, ev.GetObjectClass()) && in(h.Zones, ev.GetZone(), ev.GetLine())
}

// target is a hook with what its files hold.
type target struct {
	Hook
	key []byte // nil: not signed
	tls *tls.Config
}

// same tells whether nothing differs, what is in the files neither.
func (t *target) same(other *target) bool {
	return reflect.DeepEqual(t.Hook, other.Hook) && bytes.Equal(t.key, other.key) && t.tls.RootCAs.Equal(other.tls.RootCAs)
}

// Lengths of a key, of Standard Webhooks.
const (
	minKey, maxKey = 24, 64
	keyPrefix      = "whsec_"
)

// ParseSecret reads a secret. The error has nothing of it.
func ParseSecret(text string) ([]byte, error) {
	encoded, ok := strings.CutPrefix(text, keyPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) < minKey || len(key) > maxKey {
		return nil, fmt.Errorf("it is none; accepted: %s and base64 of %d to %d bytes, as of: echo %s$(openssl rand -base64 32)", keyPrefix, minKey, maxKey, keyPrefix)
	}
	return key, nil
}

// ready reads the hook's files. The error names all that is wrong.
func (h Hook) ready() (*target, error) {
	t := &target{Hook: h, tls: &tls.Config{MinVersion: tls.VersionTLS12}}
	var faults []error
	u, err := url.Parse(h.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		faults = append(faults, errors.New("url: it is none, or names a user; accepted: http://HOST/PATH or https://HOST/PATH")) // it may hold a secret
	}
	if h.Secret != "" {
		if t.key, err = ParseSecret(h.Secret); err != nil {
			faults = append(faults, fmt.Errorf("secret: %w", err))
		}
	}
	if h.SecretFile != "" {
		text, err := files.Read(context.Background(), h.SecretFile, files.Password)
		if err == nil {
			if t.key, err = ParseSecret(strings.TrimRight(string(text), "\r\n")); err != nil {
				err = fmt.Errorf("%s: %w", h.SecretFile, err)
			}
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("secret_file: %w", err))
		}
	}
	if h.CA != "" {
		if t.tls.RootCAs, err = keypair.Certificates(h.CA); err != nil {
			faults = append(faults, fmt.Errorf("ca: %s: %w; accepted: certificates, PEM", h.CA, err))
		}
	}
	for i, fault := range faults {
		faults[i] = fmt.Errorf("webhook: %s: %w", h.Name, fault)
	}
	return t, errors.Join(faults...)
}

// Check tells what is wrong with hooks and their files.
func Check(hooks []Hook) error {
	var faults []error
	for _, h := range hooks {
		_, err := h.ready()
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}
