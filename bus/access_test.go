package bus

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
)

// authority is a certificate authority with files for a server and a client.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = nil, nil
	a.issue("ca")
	return a
}

// issue writes NAME.pem and NAME.key; the first is the authority's own.
func (a *authority) issue(name string) (cert, key string) {
	a.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, BasicConstraintsValid: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: a.cert == nil,
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, private
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &private.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	if a.cert == nil {
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			a.t.Fatal(err)
		}
		a.key = private
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, key = filepath.Join(a.dir, name+".pem"), filepath.Join(a.dir, name+".key")
	write(a.t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	write(a.t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})))
	return cert, key
}

// server is a TLS configuration that wants a client's certificate if strict.
func (a *authority) server(strict bool) *tls.Config {
	cert, key := a.issue("server")
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		a.t.Fatal(err)
	}
	cfg := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if strict {
		cfg.ClientAuth = tls.RequireAndVerifyClientCert
		cfg.ClientCAs = x509.NewCertPool()
		cfg.ClientCAs.AddCert(a.cert)
	}
	return cfg
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// userKey is an NKey of a user: its public part and a file with its seed.
func userKey(t *testing.T) (public, path string) {
	t.Helper()
	pair, err := nkeys.CreateUser()
	require.NoError(t, err)
	public, err = pair.PublicKey()
	require.NoError(t, err)
	seed, err := pair.Seed()
	require.NoError(t, err)
	return public, write(t, filepath.Join(t.TempDir(), "user.nk"), string(seed)+"\n")
}

// operator is a NATS operator with an account for JetStream, as nsc makes them.
type operator struct {
	t       *testing.T
	options server.Options
	account nkeys.KeyPair
}

func newOperator(t *testing.T) *operator {
	o := &operator{t: t}
	op, err := nkeys.CreateOperator()
	o.must(err)
	public, err := op.PublicKey()
	o.must(err)
	claims := jwt.NewOperatorClaims(public)
	resolver := &server.MemAccResolver{}
	system := o.newAccount(op, resolver, jwt.JetStreamLimits{})
	claims.SystemAccount = o.public(system)
	o.account = o.newAccount(op, resolver, jwt.JetStreamLimits{MemoryStorage: -1, DiskStorage: -1, Streams: -1, Consumer: -1})
	token, err := claims.Encode(op)
	o.must(err)
	decoded, err := jwt.DecodeOperatorClaims(token)
	o.must(err)
	o.options = server.Options{
		TrustedOperators: []*jwt.OperatorClaims{decoded}, AccountResolver: resolver,
		SystemAccount: claims.SystemAccount, JetStream: true,
	}
	return o
}

func (o *operator) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *operator) public(pair nkeys.KeyPair) string {
	public, err := pair.PublicKey()
	o.must(err)
	return public
}

func (o *operator) newAccount(op nkeys.KeyPair, resolver server.AccountResolver, limits jwt.JetStreamLimits) nkeys.KeyPair {
	pair, err := nkeys.CreateAccount()
	o.must(err)
	claims := jwt.NewAccountClaims(o.public(pair))
	claims.Limits.JetStreamLimits = limits
	token, err := claims.Encode(op)
	o.must(err)
	o.must(resolver.Store(o.public(pair), token))
	return pair
}

// user writes a credentials file for a new user of account.
func (o *operator) user(account nkeys.KeyPair) string {
	pair, err := nkeys.CreateUser()
	o.must(err)
	token, err := jwt.NewUserClaims(o.public(pair)).Encode(account)
	o.must(err)
	seed, err := pair.Seed()
	o.must(err)
	text, err := jwt.FormatUserConfig(token, seed)
	o.must(err)
	return write(o.t, filepath.Join(o.t.TempDir(), "segd.creds"), string(text))
}

// Each way to be let in: masks arrive, events are stored, and without it the
// server is tried again for ever, with a line that says so, and what cannot be
// sent is counted.
func TestAccess(t *testing.T) {
	ca := newAuthority(t)
	caFile := filepath.Join(ca.dir, "ca.pem")
	clientCert, clientKey := ca.issue("client")
	public, seed := userKey(t)
	_, otherSeed := userKey(t)
	op := newOperator(t)
	stranger, err := nkeys.CreateAccount()
	require.NoError(t, err)
	for _, tt := range []struct {
		name        string
		server      server.Options
		user        string // before the host
		access      Access
		wrongUser   string
		wrong       Access
		is          error  // of the refusal
		scheme, say string // say is in the line about the refusal
	}{
		{
			name: "user and password", server: server.Options{Username: "segd", Password: "right"},
			user: "segd:right@", wrongUser: "segd:secret@", is: nats.ErrAuthorization, say: "refuses us, trying on; want a user, password or token",
		},
		{
			name: "token", server: server.Options{Authorization: "right"},
			user: "right@", wrongUser: "secret@", is: nats.ErrAuthorization, say: "refuses us, trying on",
		},
		{
			name: "NKey", server: server.Options{Nkeys: []*server.NkeyUser{{Nkey: public}}},
			access: Access{NKey: seed}, wrong: Access{NKey: otherSeed}, is: nats.ErrAuthorization, say: "nats.nkey",
		},
		{
			name: "JWT of an operator", server: op.options,
			access: Access{Credentials: op.user(op.account)}, wrong: Access{Credentials: op.user(stranger)},
			is: nats.ErrAuthorization, say: "nats.credentials",
		},
		{
			name: "TLS", server: server.Options{TLS: true, TLSConfig: ca.server(false), TLSTimeout: 2}, scheme: "tls",
			access: Access{CA: caFile}, say: "certificate signed by unknown authority",
		},
		{
			name:   "TLS both ways",
			server: server.Options{TLS: true, TLSVerify: true, TLSConfig: ca.server(true), TLSTimeout: 2}, scheme: "tls",
			access: Access{CA: caFile, Cert: clientCert, Key: clientKey}, wrong: Access{CA: caFile}, say: "certificate",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			port := freePort(t)
			tt.server.Port, tt.server.JetStream = port, true
			natsServer(t, tt.server)
			scheme := "nats"
			if tt.scheme != "" {
				scheme = tt.scheme
			}
			host := strings.TrimPrefix(urlOf(port), "nats://")

			url := scheme + "://" + tt.user + host
			b := open(t, Config{External: External{URL: url, Access: tt.access}})
			eventually(t, "connected", b.Connected)
			assert.NoError(t, b.Err(), "Err()")
			masks := make(chan *segdv1.MaskFrame, 1)
			watch(t, url, "demo", Handlers{Mask: func(m *segdv1.MaskFrame) { masks <- m }}, tt.access)
			require.NoError(t, errors.Join(b.PublishMask(maskFrame("demo", 7)), b.PublishEvent(&segdv1.Event{Camera: "demo"})))
			assert.EqualValues(t, 7, receive(t, masks).Sequence, "sequence")
			eventually(t, "the event is stored", func() bool { return b.Stats().EventsStored == 1 })

			lines := make(chan string, 1000)
			refused, err := Open(t.Context(), Config{External: External{URL: scheme + "://" + tt.wrongUser + host, Access: tt.wrong}, Logger: logTo(lines)})
			require.NoError(t, err)
			defer func() { _ = refused.Close() }() // tells of the masks that are lost
			for line := ""; !strings.Contains(line, tt.say); {
				line = receive(t, lines)
				assert.NotContains(t, line, "secret", "gives the password away")
			}
			if refused.Connected() {
				t.Error("connected with what is wrong")
			}
			if err := refused.Err(); !errors.Is(err, ErrNotConnected) || (tt.is != nil && !errors.Is(err, tt.is)) {
				t.Errorf("Err() = %v, want %v", err, tt.is)
			}
			large := maskFrame("demo", 1)
			large.Objects[0].Counts = strings.Repeat("0", 128<<10)
			failures := uint64(0)
			for range 80 {
				if err := refused.PublishMask(large); err != nil {
					failures++
				}
			}
			s := refused.Stats()
			if n := s.Lost[KindMask][BufferFull] + s.Lost[KindMask][NotConnected]; failures == 0 || n != failures {
				t.Errorf("%d masks are counted as lost, %d publishes failed", n, failures)
			}
			closeNow(t, b)
		})
	}
}

// refuser lets no client in for a number of times.
type refuser struct{ left, tried atomic.Int32 }

func (r *refuser) Check(server.ClientAuthentication) bool {
	r.tried.Add(1)
	return r.left.Add(-1) < 0
}

// A server that refuses us again and again, more often than nats.go puts up with by
// itself, is tried again; events of the time are stored in the end.
func TestRefusalEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 3 s: a server that refuses again and again")
	}
	port := freePort(t)
	auth := new(refuser)
	auth.left.Store(1000)
	natsServer(t, server.Options{Port: port, CustomClientAuthentication: auth, JetStream: true})
	b := open(t, Config{External: External{URL: urlOf(port)}})
	eventually(t, "refused", func() bool { return errors.Is(b.Err(), nats.ErrAuthorization) })
	for range 3 {
		require.NoError(t, b.PublishEvent(&segdv1.Event{Camera: "demo"}))
	}
	if s := b.Stats(); s.EventsWaiting != 3 || s.EventsStored != 0 || s.Connected {
		t.Errorf("%+v, want 3 events to wait", s)
	}
	eventually(t, "refused again", func() bool { return auth.tried.Load() >= 4 })
	auth.left.Store(0)
	eventually(t, "stored", func() bool { return b.Stats().EventsStored == 3 })
	closeNow(t, b)
}

func TestAccessErrors(t *testing.T) {
	ca := newAuthority(t)
	cert, _ := ca.issue("one")
	_, otherKey := ca.issue("two")
	_, seed := userKey(t)
	none := filepath.Join(t.TempDir(), "none")
	garbage := write(t, filepath.Join(t.TempDir(), "garbage"), "hello")
	for _, tt := range []struct {
		name   string
		access Access
		want   []string
	}{
		{"no CA", Access{CA: none}, []string{"NATS access: CA " + none, "no such file", "certificates in PEM"}},
		{"CA", Access{CA: garbage}, []string{"NATS access: CA " + garbage, "no certificate in it"}},
		{"half a pair", Access{Cert: cert}, []string{"certificate and key belong together"}},
		{"pair", Access{Cert: cert, Key: otherKey}, []string{"NATS access: client certificate " + cert, "private key does not match"}},
		{"credentials", Access{Credentials: garbage}, []string{"NATS access: credentials " + garbage, "as nsc writes it"}},
		{"NKey", Access{NKey: garbage}, []string{"NATS access: NKey " + garbage, "a user's seed"}},
		{"two at once", Access{NKey: seed, Credentials: none}, []string{"both credentials and an NKey", "no such file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Open(t.Context(), Config{External: External{URL: "nats://127.0.0.1:1", Access: tt.access}})
			assert.ErrorIs(t, err, ErrAccess, "Open")
			for _, want := range tt.want {
				assert.ErrorContains(t, err, want, "Open")
			}
			assert.ErrorContains(t, Watch(t.Context(), "nats://127.0.0.1:1", "demo", Handlers{}, tt.access), tt.want[0], "Watch")
		})
	}
}

// The permissions that docs/nats.md refers to are enough: streams, events, masks, the
// service.
func TestPermissions(t *testing.T) {
	port := freePort(t)
	natsServer(t, server.Options{Port: port, JetStream: true, Users: []*server.User{
		{Username: "admin", Password: "admin"},
		{Username: "segd", Password: "segd", Permissions: composePermissions(t)},
	}})
	host := strings.TrimPrefix(urlOf(port), "nats://")
	lines := make(chan string, 1000)
	for run, age := range []time.Duration{time.Hour, 2 * time.Hour} { // the second changes the streams
		b := open(t, Config{
			External: External{URL: "nats://segd:segd@" + host}, Site: "home", Logger: logTo(lines),
			Events: Retention{MaxAge: age}, Masks: Retention{MaxAge: age},
		})
		err := b.Serve(granting("demo"))
		require.NoError(t, errors.Join(err, b.PublishEvent(&segdv1.Event{Camera: "demo"})))
		eventually(t, "the event is stored", func() bool { return b.Stats().EventsStored == 1 })
		require.NoError(t, b.PublishMask(maskFrame("demo", uint64(run))))
		admin := "nats://admin:admin@" + host
		_, err = (Target{URL: admin, Site: "home", Camera: "demo"}).Annotate(t.Context(), []byte("{}"))
		assert.NoError(t, err)
		js, err := jetstream.New(connect(t, admin))
		require.NoError(t, err)
		for _, kind := range []Kind{KindEvent, KindMask} {
			stream, err := js.Stream(t.Context(), StreamName("home", kind))
			require.NoError(t, err)
			assert.Equal(t, age, stream.CachedInfo().Config.MaxAge, "%s are kept for", kind)
			eventually(t, "stored", func() bool {
				info, err := stream.Info(t.Context())
				return err == nil && info.State.Msgs == uint64(run+1)
			})
		}
		closeNow(t, b)
	}
	close(lines)
	for line := range lines {
		assert.NotContains(t, strings.ToLower(line), "permission", line)
	}
}

// A user who may publish and nothing else: another has made the stream.
func TestStreamOfAnother(t *testing.T) {
	port := freePort(t)
	admin := &server.User{Username: "admin", Password: "admin"}
	user := &server.User{Username: "segd", Password: "segd", Permissions: &server.Permissions{
		Publish:   &server.SubjectPermission{Allow: []string{"segd.v1.>"}},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>", "segd.v1.>", "$SRV.>"}},
	}}
	natsServer(t, server.Options{Port: port, JetStream: true, Users: []*server.User{admin, user}})
	host := strings.TrimPrefix(urlOf(port), "nats://")
	js, err := jetstream.New(connect(t, "nats://admin:admin@"+host))
	require.NoError(t, err)
	lines := make(chan string, 1000)
	b := open(t, Config{External: External{URL: "nats://segd:segd@" + host}, Logger: logTo(lines)})
	publish := func(until string) {
		t.Helper()
		require.NoError(t, b.PublishEvent(&segdv1.Event{Camera: "demo"}))
		for line := ""; !strings.Contains(line, until); {
			line = receive(t, lines)
		}
	}
	publish("events are not kept, only sent live") // there is none yet
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "everything", Subjects: []string{"segd.v1.>"}})
	require.NoError(t, err)
	require.NoError(t, b.PublishEvent(&segdv1.Event{Camera: "demo"}))
	eventually(t, "stored", func() bool {
		info, err := stream.Info(t.Context())
		return err == nil && info.State.Msgs == 1
	})
	closeNow(t, b)
}

// Another's stream that already has the subjects is as good as ours, and its
// acknowledgements are waited for.
func TestStreamOverlaps(t *testing.T) {
	port := freePort(t)
	natsServer(t, server.Options{Port: port, JetStream: true})
	js, err := jetstream.New(connect(t, urlOf(port)))
	require.NoError(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "everything", Subjects: []string{"segd.v1.>"}})
	require.NoError(t, err)
	b := open(t, Config{External: External{URL: urlOf(port)}})
	require.NoError(t, b.PublishEvent(&segdv1.Event{Camera: "demo"}))
	eventually(t, "acknowledged", func() bool { return b.Stats().EventsStored == 1 })
	closeNow(t, b)
}
