package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/segd/segd/bus/segdv1"
)

// cloudEvent is an event in CloudEvents' JSON format, 1.0. CNCF's SDK would bring a dozen modules for these fields.
type cloudEvent struct {
	SpecVersion     string          `json:"specversion"`
	ID              string          `json:"id"`
	Source          string          `json:"source"`
	Type            string          `json:"type"`
	Subject         string          `json:"subject,omitempty"`
	Time            string          `json:"time"`
	DataContentType string          `json:"datacontenttype"`
	Data            json.RawMessage `json:"data"`
}

// contentType is that of CloudEvents in one piece ("structured mode").
const contentType = "application/cloudevents+json; charset=utf-8"

// typePrefix is what the types of events begin with.
const typePrefix = "segd.v1."

// encode returns ev as it is posted.
func encode(id string, ev *segdv1.Event) ([]byte, error) {
	data, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(ev)
	if err != nil {
		return nil, err
	}
	out := cloudEvent{
		SpecVersion: "1.0", ID: id, Source: "/segd/" + ev.GetSite() + "/" + ev.GetCamera(), Type: typePrefix + segdv1.KindName(ev.GetKind()),
		Time: ev.GetTime().AsTime().Format(time.RFC3339Nano), DataContentType: "application/json", Data: data,
	}
	if ev.GetObjectId() != 0 {
		out.Subject = "objects/" + strconv.FormatUint(uint64(ev.GetObjectId()), 10)
	}
	return json.Marshal(out)
}

// sign is the signature of Standard Webhooks, v1.
func sign(key []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s.%s.", id, timestamp) // which cannot fail
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// answer is what became of a post.
type answer struct {
	err     error         // nil: it was taken
	forGood bool          // it will never be
	after   time.Duration // try again not before
}

// maxAfter bounds what a server may have us wait for.
const maxAfter = 5 * time.Minute

// maxAnswer is how much of an answer is read, so that the connection can be used again.
const maxAnswer = 64 << 10

// client posts to t's server. Redirects are not followed: events go to the server of the configuration only.
func (t *target) client(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: t.tls, ForceAttemptHTTP2: true, MaxIdleConns: 1, MaxConnsPerHost: 1,
			IdleConnTimeout: time.Minute, MaxResponseHeaderBytes: maxAnswer, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// post posts an event once.
func (t *target) post(ctx context.Context, client *http.Client, agent string, m *message) answer {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, bytes.NewReader(m.body))
	if err != nil {
		return answer{err: bare(err)}
	}
	now := strconv.FormatInt(time.Now().Unix(), 10)
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", agent)
	req.Header.Set("Webhook-Id", m.id)
	req.Header.Set("Webhook-Timestamp", now)
	if t.key != nil {
		req.Header.Set("Webhook-Signature", sign(t.key, m.id, now, m.body))
	}
	res, err := client.Do(req)
	if err != nil {
		return answer{err: bare(err)}
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.CopyN(io.Discard, res.Body, maxAnswer)
	switch res.StatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return answer{err: fmt.Errorf("the server refuses the event: %s", res.Status), forGood: true}
	}
	if res.StatusCode >= 200 && res.StatusCode < 300 {
		return answer{}
	}
	a := answer{err: fmt.Errorf("the server answers %s", res.Status)}
	if res.StatusCode >= 300 && res.StatusCode < 400 {
		a.err = fmt.Errorf("%w; redirects are not followed: want the URL that it leads to", a.err)
	}
	if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && seconds > 0 {
		a.after = min(time.Duration(seconds)*time.Second, maxAfter)
	}
	return a
}

// bare is err without the URL, which may hold a secret.
func bare(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// Try finds out whether the hook's server can be reached, by TLS if its URL says so. Nothing is posted.
func Try(ctx context.Context, h Hook) error {
	t, err := h.ready()
	if err != nil {
		return err
	}
	u, _ := url.Parse(h.URL) // ready has refused what is none
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	ctx, cancel := context.WithTimeout(ctx, defaults.answer)
	defer cancel()
	var conn net.Conn
	if u.Scheme == "https" {
		conn, err = (&tls.Dialer{Config: t.tls}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	} else {
		conn, err = new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	}
	if err != nil {
		return fmt.Errorf("webhook: %s: %w", h.Name, err)
	}
	return conn.Close()
}
