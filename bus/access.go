package bus

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
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
		if err := readCertificates(a.CA); err != nil {
			fault("CA", a.CA, "a file with certificates in PEM", err)
		}
		opts = append(opts, nats.RootCAs(a.CA))
	}
	switch {
	case a.Cert != "" && a.Key != "":
		if _, err := tls.LoadX509KeyPair(a.Cert, a.Key); err != nil {
			fault("client certificate", a.Cert+" with key "+a.Key, "two files in PEM that belong together", err)
		}
		opts = append(opts, nats.ClientCert(a.Cert, a.Key))
	case a.Cert != "" || a.Key != "":
		faults = append(faults, fmt.Errorf("%w: client certificate and key belong together; want both or neither", ErrAccess))
	}
	if a.Credentials != "" && a.NKey != "" {
		faults = append(faults, fmt.Errorf("%w: both credentials and an NKey; want one of them", ErrAccess))
	}
	if a.Credentials != "" {
		if err := readCredentials(a.Credentials); err != nil {
			fault("credentials", a.Credentials, "a file with a user's JWT and seed, as nsc writes it", err)
		}
		opts = append(opts, nats.UserCredentials(a.Credentials))
	}
	if a.NKey != "" {
		opt, err := nats.NkeyOptionFromSeed(a.NKey)
		if err != nil {
			fault("NKey", a.NKey, "a file with a user's seed (SU…)", err)
		}
		opts = append(opts, opt)
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return opts, nil
}

func readCertificates(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		return errors.New("no certificate in it")
	}
	return nil
}

// readCredentials finds out whether both parts are there; what they are worth the
// server will say.
func readCredentials(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if _, err := nkeys.ParseDecoratedJWT(text); err != nil {
		return err
	}
	pair, err := nkeys.ParseDecoratedUserNKey(text)
	if err != nil {
		return err
	}
	pair.Wipe()
	return nil
}
