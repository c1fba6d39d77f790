package bus

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/segd/segd/internal/files"
	"github.com/segd/segd/internal/keypair"
)

// ErrAccess is in the chain of the error about an Access that can never do.
var ErrAccess = errors.New("bus: NATS access")

// Access is what an external server wants to see before it lets one in, besides
// the user and password or the token in its URL. All are paths of files; the zero
// value shows nothing. They are read again at every connection, so that renewed
// ones are used without a restart.
type Access struct {
	// CA holds the certificates, PEM, of whom to trust with the server's; "" is
	// the machine's own. Naming one insists on TLS.
	CA string
	// Cert and Key are the client's certificate and its key, PEM.
	Cert, Key string
	// Credentials holds a user's JWT and seed, as nsc writes it.
	Credentials string
	// NKey holds a user's seed, as "nk -gen user" writes it.
	NKey string
}

// options are nats.go's for a, whose files must be good now.
func (a Access) options() ([]nats.Option, error) {
	var opts []nats.Option
	var faults []error
	fault := func(what, path, want string, err error) {
		faults = append(faults, fmt.Errorf("%w: %s %s: %w; want %s", ErrAccess, what, path, err, want))
	}
	if a.CA != "" {
		if _, err := keypair.Certificates(a.CA); err != nil {
			fault("CA", a.CA, "a file with certificates in PEM", err)
		}
		opts = append(opts, trusting(a.CA))
	}
	switch {
	case a.Cert != "" && a.Key != "":
		if _, err := keypair.Read(a.Cert, a.Key); err != nil {
			fault("client certificate", a.Cert+" with key "+a.Key, "two files in PEM that belong together", err)
		}
		opts = append(opts, showing(a.Cert, a.Key))
	case a.Cert != "" || a.Key != "":
		faults = append(faults, fmt.Errorf("%w: client certificate and key belong together; want both or neither", ErrAccess))
	}
	if a.Credentials != "" && a.NKey != "" {
		faults = append(faults, fmt.Errorf("%w: both credentials and an NKey; want one of them", ErrAccess))
	}
	if a.Credentials != "" {
		if _, err := readCredentials(a.Credentials); err != nil {
			fault("credentials", a.Credentials, "a file with a user's JWT and seed, as nsc writes it", err)
		}
		opts = append(opts, nats.UserJWT(
			func() (string, error) { return readCredentials(a.Credentials) },
			func(nonce []byte) ([]byte, error) { return sign(a.Credentials, nonce) }))
	}
	if a.NKey != "" {
		public, err := publicKey(a.NKey)
		if err != nil {
			fault("NKey", a.NKey, "a file with a user's seed (SU…)", err)
		}
		opts = append(opts, nats.Nkey(public, func(nonce []byte) ([]byte, error) { return sign(a.NKey, nonce) }))
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return opts, nil
}

// What follows is what nats.go has of its own, but for the way in which files are opened.

// secured has TLS used, as nats.go has it.
func secured(o *nats.Options) {
	if o.TLSConfig == nil {
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	o.Secure = true
}

// trusting has servers trusted that the certificates in a file are of.
func trusting(ca string) nats.Option {
	return func(o *nats.Options) error {
		secured(o)
		o.RootCAsCB = func() (*x509.CertPool, error) { return keypair.Certificates(ca) }
		return nil
	}
}

// showing shows a client's certificate.
func showing(cert, key string) nats.Option {
	return func(o *nats.Options) error {
		secured(o)
		o.TLSCertCB = func() (tls.Certificate, error) { return keypair.Read(cert, key) }
		return nil
	}
}

// readCredentials returns the JWT in a file, and finds out whether the seed is there too; what they are worth
// the server will say.
func readCredentials(path string) (string, error) {
	text, err := files.Read(context.Background(), path, files.Key)
	if err != nil {
		return "", err
	}
	defer clear(text)
	pair, err := nkeys.ParseDecoratedUserNKey(text)
	if err != nil {
		return "", err
	}
	pair.Wipe()
	return nkeys.ParseDecoratedJWT(text)
}

// withSeed calls do with the key pair of the seed in a file, which is not kept in memory.
func withSeed(path string, do func(nkeys.KeyPair) error) error {
	text, err := files.Read(context.Background(), path, files.Key)
	if err != nil {
		return err
	}
	defer clear(text)
	pair, err := nkeys.ParseDecoratedNKey(text)
	if err != nil {
		return err
	}
	defer pair.Wipe()
	return do(pair)
}

// publicKey is that of the user whose seed is in a file.
func publicKey(path string) (public string, err error) {
	err = withSeed(path, func(pair nkeys.KeyPair) error {
		if public, err = pair.PublicKey(); err == nil && !nkeys.IsValidPublicUserKey(public) {
			return errors.New("the seed is not a user's")
		}
		return err
	})
	return public, err
}

// sign answers the server's challenge with the seed in a file.
func sign(path string, nonce []byte) (signature []byte, err error) {
	err = withSeed(path, func(pair nkeys.KeyPair) error {
		signature, err = pair.Sign(nonce)
		return err
	})
	return signature, err
}
