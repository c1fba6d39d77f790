package boxlink

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// ErrStranger is why a peer that answers at a box's address, or asks, is not believed to be that box.
var ErrStranger = errors.New("it is another box, or its tokens are not those of this box; accepts the same http.token, http.viewer_token and whip.token on all boxes of a fleet")

// keys are those by which boxes know one another: a host that has the fleet's secret is one of its boxes, which decides
// itself who may do what.
type keys struct{ secret []byte }

// The ends of a connection between boxes have keys of their own, so that one's words cannot be sent back to it.
const (
	endServer = "server"
	endClient = "client"
)

// of returns the key of an end of connections to box. It is another for each box, so that none can be had to answer for
// another.
func (k keys) of(box, end string) (ed25519.PrivateKey, error) {
	seed, err := hkdf.Key(sha256.New, k.secret, nil, "segd between boxes 1 "+end+" "+box, ed25519.SeedSize)
	if err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// tls returns how an end of connections to box speaks.
func (k keys) tls(box, end string) (*tls.Config, error) {
	other := map[string]string{endServer: endClient, endClient: endServer}[end]
	own, ownErr := k.of(box, end)
	peer, peerErr := k.of(box, other)
	if err := errors.Join(ownErr, peerErr); err != nil {
		return nil, fmt.Errorf("the key of box %s: %w", box, err)
	}
	// Nothing but the key is looked at: clocks of boxes may be wrong.
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, own.Public(), own)
	if err != nil {
		return nil, fmt.Errorf("the certificate of box %s: %w", box, err)
	}
	want := peer.Public().(ed25519.PublicKey)
	return &tls.Config{
		MinVersion:             tls.VersionTLS13,
		Certificates:           []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: own}},
		ClientAuth:             tls.RequireAnyClientCert,
		SessionTicketsDisabled: true,
		InsecureSkipVerify:     true, // of names and authorities, which there are none of
		VerifyConnection: func(c tls.ConnectionState) error {
			if !want.Equal(c.PeerCertificates[0].PublicKey) {
				return ErrStranger
			}
			return nil
		},
	}, nil
}
