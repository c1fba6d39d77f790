package onvif

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/icholy/digest"

	"github.com/segd/segd/internal/redact"
)

var (
	// ErrNoAnswer says: nothing answers there, or not in time.
	ErrNoAnswer = errors.New("no answer")
	// ErrUnauthorized says: the camera wants a user, or another one.
	ErrUnauthorized = errors.New("wants a user, or another")
	// ErrNotONVIF says: what is there is no ONVIF device.
	ErrNotONVIF = errors.New("no ONVIF device")
	// ErrFault says: an ONVIF device, which does not do what it is asked for.
	ErrFault = errors.New("refused")
)

const (
	// maxAnswer bounds an answer: 64 profiles with all they may have take half of it.
	maxAnswer = 1 << 20
	// callTimeout bounds one question.
	callTimeout = 5 * time.Second
	contentType = "application/soap+xml; charset=utf-8"
	devicePath  = "/onvif/device_service"
)

// client speaks to one camera.
type client struct {
	http           http.Client
	host           string // that it is asked at, for errors
	user, password string
	// ahead is how far its clock is before ours, if clock says that it is known.
	ahead time.Duration
	clock bool
	// told says that it is told the user, which it is once it has refused to answer anybody, and how: by
	// challenge, which is nil if it did not ask for HTTP Digest, and by UsernameToken. count is how often
	// challenge was used.
	told      bool
	challenge *digest.Challenge
	count     int
	// accepted says that it has let the user in, denied that it has not: then it is asked no more, since
	// many cameras lock an account after a few refusals.
	accepted, denied bool
}

func newClient(host, user, password string) *client {
	transport := &http.Transport{
		DialContext:            (&net.Dialer{Timeout: callTimeout}).DialContext,
		MaxResponseHeaderBytes: 64 << 10,
		MaxConnsPerHost:        2,
	}
	c := &client{host: host, user: user, password: password, http: http.Client{
		Transport: bounded{transport},
		// A camera has no business sending segd to another host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	return c
}

// challenged finds what HTTP Digest is asked for by, nil if it is not, or in no way that can be read.
func challenged(resp *http.Response) *digest.Challenge {
	if resp.StatusCode != http.StatusUnauthorized {
		return nil
	}
	found, err := digest.FindChallenge(resp.Header)
	if err != nil || !digest.CanDigest(found) {
		return nil
	}
	return found
}

// bounded bounds the answers that pass it.
type bounded struct{ *http.Transport }

func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.Transport.RoundTrip(req)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer+1), resp.Body}
	}
	return resp, err
}

// serviceURL reads the URL of a service.
func serviceURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil ||
		len(text) > maxAddress || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("accepted: HOST, HOST:PORT or http://HOST:PORT/PATH, without user and password")
	}
	u.Path = cmp.Or(u.Path, devicePath)
	u.Fragment = ""
	return u, nil
}

// call asks service something and reads the answer into into: first as anybody, since only a camera that
// refuses that says how it wants to be told the user. signed says whether a UsernameToken may do that.
func (c *client) call(ctx context.Context, service *url.URL, question string, signed bool, into any) error {
	if c.denied {
		return c.refused()
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	as := c.told && (signed || c.challenge != nil) // the user
	found, err := c.ask(ctx, service, question, signed, into)
	switch {
	case err == nil:
		c.accepted = c.accepted || as
		return nil
	case c.user == "", errors.Is(err, ErrNoAnswer), ctx.Err() != nil:
		return err
	case as && errors.Is(err, ErrUnauthorized) && (!c.accepted || found == nil):
		c.denied = true
		return err
	case as && !errors.Is(err, ErrUnauthorized):
		return err
	case found == nil && !signed:
		return err
	}
	// It may refuse in other words than it should, and one that has let the user in may want a new nonce.
	c.told, c.challenge, c.count = true, found, 0
	if _, err = c.ask(ctx, service, question, signed, into); errors.Is(err, ErrUnauthorized) {
		c.denied = true
	} else if err == nil {
		c.accepted = true
	}
	return err
}

// ask is call once, and finds by what HTTP Digest is asked for, if the answer is a refusal that says so.
func (c *client) ask(ctx context.Context, service *url.URL, question string, signed bool, into any) (*digest.Challenge, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, service.String(), bytes.NewReader(c.envelope(question, c.told && signed)))
	if err != nil {
		return nil, c.silent(ctx, err)
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", "segd")
	if c.told && c.challenge != nil {
		c.count++
		secret, err := digest.Digest(c.challenge, digest.Options{
			Method: req.Method, URI: req.URL.RequestURI(), GetBody: req.GetBody, Count: c.count, Username: c.user, Password: c.password,
		})
		if err != nil { // challenged has let it pass
			return nil, c.fail(ErrNotONVIF, "asks for the user in a way that is not known: %s", clean(err.Error()))
		}
		req.Header.Set("Authorization", secret.String())
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.silent(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return challenged(resp), c.refused()
	case err != nil:
		return nil, c.silent(ctx, err)
	case len(data) > maxAnswer:
		return nil, c.fail(ErrNotONVIF, "is no ONVIF device: it answers with more than %d KiB", maxAnswer>>10)
	}
	return nil, c.read(resp, data, into)
}

// read reads an answer's body, which may be a fault, whatever its status.
func (c *client) read(resp *http.Response, data []byte, into any) error {
	var e struct {
		XMLName xml.Name `xml:"Envelope"`
		Fault   *fault   `xml:"Body>Fault"`
	}
	err := decode(data, &e)
	switch {
	case err == nil && e.Fault != nil && e.Fault.unauthorized():
		return c.refused()
	case err == nil && e.Fault != nil:
		return c.fail(ErrFault, "refuses: %s", e.Fault)
	case resp.StatusCode == http.StatusForbidden:
		return c.refused()
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return c.fail(ErrNotONVIF, "is no ONVIF device here: it sends elsewhere, by HTTP status %d to %s", resp.StatusCode, clean(redact.URL(resp.Header.Get("Location"))))
	case resp.StatusCode != http.StatusOK:
		return c.fail(ErrNotONVIF, "is no ONVIF device: it answers with HTTP status %d", resp.StatusCode)
	case err == nil:
		err = decode(data, into)
	}
	if err != nil {
		kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
		return c.fail(ErrNotONVIF, "is no ONVIF device: it answers with %d bytes of %q that are no SOAP: %s", len(data), clean(kind), clean(err.Error()))
	}
	return nil
}

// failure is why a camera was of no use. It wraps which of the errors above it is.
type failure struct {
	text  string
	kind  error
	cause error // or nil
}

func (f *failure) Error() string { return f.text }

func (f *failure) Unwrap() []error {
	if f.cause == nil {
		return []error{f.kind}
	}
	return []error{f.kind, f.cause}
}

// fail returns a failure of the camera, which says what it does.
func (c *client) fail(kind error, does string, args ...any) error {
	return &failure{text: "onvif: " + c.host + " " + fmt.Sprintf(does, args...), kind: kind}
}

// silent is the error where no answer came, or not all of it.
func (c *client) silent(ctx context.Context, err error) error {
	var timeout net.Error
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return c.fail(ErrNoAnswer, "does not answer in time")
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var u *url.Error
	if errors.As(err, &u) { // which repeats the URL
		err = u.Err
	}
	text := clean(redact.Text(err.Error()))
	if strings.Contains(text, "malformed HTTP") || strings.Contains(text, "HTTP response to HTTPS client") {
		return c.fail(ErrNotONVIF, "is no ONVIF device: it does not speak HTTP: %s", text)
	}
	return &failure{text: "onvif: " + c.host + " does not answer: " + text, kind: ErrNoAnswer, cause: err}
}

// refused is the error of a camera that does not let the user in.
func (c *client) refused() error {
	switch {
	case c.user == "":
		return c.fail(ErrUnauthorized, "wants user and password")
	case !c.clock:
		return c.fail(ErrUnauthorized, "refuses user and password; if they are right its clock is wrong, which it does not tell")
	case c.ahead.Abs() > skewTold:
		return c.fail(ErrUnauthorized, "refuses user and password, although they were sent by its clock, which is %s", Skew(c.ahead))
	}
	return c.fail(ErrUnauthorized, "refuses user and password")
}

// fault is a SOAP fault, 1.2 or 1.1.
type fault struct {
	Code    []string `xml:"Code>Value"`
	Subcode []string `xml:"Code>Subcode>Value"`
	Deeper  []string `xml:"Code>Subcode>Subcode>Value"`
	Reason  string   `xml:"Reason>Text"`
	Code11  string   `xml:"faultcode"`
	Text11  string   `xml:"faultstring"`
}

func (f *fault) words() []string {
	var words []string
	for _, list := range [][]string{f.Subcode, f.Deeper, {f.Code11, f.Reason, f.Text11}} {
		for _, text := range list {
			if text = clean(text); text != "" {
				words = append(words, text)
			}
		}
	}
	return words
}

// unauthorized tells the faults ter:NotAuthorized, wsse:FailedAuthentication, wsse:InvalidSecurity and the
// sentences that some cameras have instead.
func (f *fault) unauthorized() bool {
	text := strings.ToLower(strings.ReplaceAll(strings.Join(f.words(), "\n"), " ", ""))
	return strings.Contains(text, "notauthorized") || strings.Contains(text, "failedauthentication") || strings.Contains(text, "unauthorized") ||
		strings.Contains(text, "authenticationfail") || strings.Contains(text, "invalidsecurity")
}

func (f *fault) String() string {
	if words := f.words(); len(words) > 0 {
		return strings.Join(words, ", ")
	}
	return "a fault without a reason"
}

// decode reads XML in UTF-8, or what passes for it: names in another encoding are
// worth no camera.
func decode(data []byte, into any) error {
	d := xml.NewDecoder(bytes.NewReader(bytes.ToValidUTF8(data, []byte("\uFFFD"))))
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	return d.Decode(into)
}

// envelope is question in a SOAP 1.2 envelope, signed with a UsernameToken if there is
// a user.
func (c *client) envelope(question string, signed bool) []byte {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?><s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope">`)
	if signed {
		var nonce [16]byte
		_, _ = rand.Read(nonce[:]) // never fails
		created := time.Now().Add(c.ahead).UTC().Format("2006-01-02T15:04:05.000Z")
		fmt.Fprintf(&b, `<s:Header><Security s:mustUnderstand="1" xmlns="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd">`+
			`<UsernameToken><Username>%s</Username>`+
			`<Password Type="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordDigest">%s</Password>`+
			`<Nonce EncodingType="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#Base64Binary">%s</Nonce>`+
			`<Created xmlns="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd">%s</Created>`+
			`</UsernameToken></Security></s:Header>`,
			escape(c.user), passwordDigest(nonce[:], created, c.password), base64.StdEncoding.EncodeToString(nonce[:]), created)
	}
	fmt.Fprintf(&b, `<s:Body>%s</s:Body></s:Envelope>`, question)
	return b.Bytes()
}

// passwordDigest is Base64(SHA-1(nonce + created + password)), as UsernameToken has it.
func passwordDigest(nonce []byte, created, password string) string {
	h := sha1.New()
	fmt.Fprintf(h, "%s%s%s", nonce, created, password)
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a builder takes all
	return b.String()
}
