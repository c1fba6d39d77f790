//go:build e2e

package proxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/e2e/browser"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/keypair/keypairtest"
	"github.com/segd/segd/internal/waitfor"
)

const (
	token     = "proxy-0123456789abcdef"
	base      = "/segd" // as in the documentation
	publisher = "webcam"
	stepLimit = waitfor.Limit
)

// documented returns the example configuration for a proxy, with addresses and files of the test.
func documented(t *testing.T, name string, own ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(harness.Root(t), "deploy", "proxy", name))
	require.NoError(t, err)
	conf := string(text)
	for i := 0; i < len(own); i += 2 {
		if !strings.Contains(conf, own[i]) {
			t.Fatalf("deploy/proxy/%s has no %q", name, own[i])
		}
		conf = strings.ReplaceAll(conf, own[i], own[i+1])
	}
	return conf
}

// proxied is a proxy that listens at addr, with the certificate in cert.
type proxied struct{ addr, cert string }

// open waits until it listens.
func (p proxied) open(t *testing.T) proxied {
	t.Helper()
	harness.Until(t, harness.StartLimit, "the proxy", func(ctx context.Context) error {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.addr)
		if err == nil {
			_ = conn.Close()
		}
		return err
	})
	return p
}

const passOn = "proxy_pass http://127.0.0.1:8080;"

// nginx starts Debian's nginx, whose server passes requests on as pass says.
func nginx(t *testing.T, pass string) proxied {
	t.Helper()
	p, dir := proxied{addr: harness.FreeAddrs(t, 1)[0]}, t.TempDir()
	var key string
	p.cert, key = keypairtest.Write(t, dir, 1)
	server := documented(t, "nginx.conf", "listen 443 ssl", "listen "+p.addr+" ssl", "example.com;", "127.0.0.1;",
		"/etc/ssl/example.com.crt", p.cert, "/etc/ssl/example.com.key", key, passOn, pass)
	var folders string
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "scgi", "uwsgi"} {
		folders += fmt.Sprintf("%s_temp_path %s;\n", kind, filepath.Join(dir, kind))
	}
	conf := filepath.Join(dir, "nginx.conf")
	text := "daemon off;\nmaster_process off;\nerror_log stderr;\npid nginx.pid;\nevents {}\nhttp {\naccess_log off;\n" + folders + server + "}\n"
	require.NoError(t, os.WriteFile(conf, []byte(text), 0o600))
	harness.Start(t, "nginx", "/usr/sbin/nginx", "-e", "stderr", "-p", dir, "-c", conf)
	return p.open(t)
}

// caddy starts Debian's Caddy before the segd at addr, with a certificate of the test's.
func caddy(t *testing.T, addr string) proxied {
	t.Helper()
	p, dir := proxied{addr: harness.FreeAddrs(t, 1)[0]}, t.TempDir()
	var key string
	p.cert, key = keypairtest.Write(t, dir, 1)
	site := documented(t, "Caddyfile", "example.com {", fmt.Sprintf("https://%s {\n  tls %s %s", p.addr, p.cert, key), "127.0.0.1:8080", addr)
	conf := filepath.Join(dir, "Caddyfile")
	require.NoError(t, os.WriteFile(conf, []byte("{\n  admin off\n  auto_https disable_redirects\n}\n"+site), 0o600))
	cmd := exec.Command("caddy", "run", "--adapter", "caddyfile", "--config", conf)
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	harness.StartCommand(t, "caddy", cmd)
	return p.open(t)
}

// The page, the API, live connections and a publisher below a path, through each proxy.
func TestProxy(t *testing.T) {
	addrs := harness.FreeAddrs(t, 3)
	harness.Run(t, fmt.Sprintf("http: {addr: '%s', token: %s, base_path: %s, trusted_proxies: [127.0.0.1]}\nnats: {addr: '%s'}\nwhip: {addr: '%s'}\n"+
		"superpixels: 200\ncameras: [{name: clip, loop: true, url: 'file:%s', detect: {off: true}}, {name: %s, url: 'whip:', detect: {off: true}}]\n",
		addrs[0], token, base, addrs[1], addrs[2], demo.FindClip(), publisher))
	for name, start := range map[string]func(*testing.T) proxied{
		"nginx hands the path on": func(t *testing.T) proxied { return nginx(t, "proxy_pass http://"+addrs[0]+";") },
		"nginx cuts the path off": func(t *testing.T) proxied { return nginx(t, "proxy_pass http://"+addrs[0]+"/;") },
		"Caddy":                   func(t *testing.T) proxied { return caddy(t, addrs[0]) },
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t, proxied: start(t)}
			for _, step := range []struct {
				name string
				do   func(context.Context) error
			}{
				{"a program signs in, and its cookie is for the path and secure", w.signsIn},
				{"a large annotation is answered by segd", w.large},
				{"Chromium is asked to sign in, and then shows live pictures", w.watches},
				{"Chromium publishes, and ends its session", w.publishes},
				{"the console has no complaints", w.console},
			} {
				ctx, cancel := context.WithTimeoutCause(t.Context(), stepLimit, fmt.Errorf("not done after %v", stepLimit))
				err := step.do(ctx)
				cancel()
				require.NoError(t, err, "%s", step.name)
			}
		})
	}
}

// world is segd as it is seen through a proxy.
type world struct {
	proxied
	t        *testing.T
	chromium *browser.Browser
}

func (w *world) url(path string) string { return "https://" + w.addr + base + path }

// client trusts the proxy's certificate, and keeps cookies.
func (w *world) client() (*http.Client, error) {
	text, err := os.ReadFile(w.cert)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(text)
	jar, err := cookiejar.New(nil)
	return &http.Client{Jar: jar, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}}, err
}

func (w *world) signsIn(ctx context.Context) error {
	client, err := w.client()
	if err != nil {
		return err
	}
	ask := func(method, path, body string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(ctx, method, w.url(path), strings.NewReader(body))
		if err != nil {
			return nil, err
		}
		if body != "" {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		resp, err := client.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		return resp, err
	}
	for _, step := range []struct{ method, path, body, ends string }{
		{"GET", "", "", "/login"}, // the slash is added on the way
		{"POST", "/login", url.Values{"token": {token}}.Encode(), "/"},
		{"GET", "/api/v1/cameras", "", "/api/v1/cameras"},
	} {
		resp, err := ask(step.method, step.path, step.body)
		if err != nil {
			return err
		}
		if got := resp.Request.URL.String(); resp.StatusCode != http.StatusOK || got != w.url(step.ends) {
			return fmt.Errorf("%s %s ends at %s with %s, want %s", step.method, w.url(step.path), got, resp.Status, w.url(step.ends))
		}
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := ask("GET", "/?token="+token, "")
	if err != nil {
		return err
	}
	if c := resp.Cookies(); len(c) != 1 || !c[0].Secure || c[0].Path != base {
		return fmt.Errorf("cookies %v; want one that is secure and for %s", c, base)
	}
	return nil
}

// large sends more than nginx takes unless it is told to.
func (w *world) large(ctx context.Context) error {
	client, err := w.client()
	if err != nil {
		return err
	}
	body := append([]byte(`{"objects": [], "padding": "`), bytes.Repeat([]byte("x"), 4<<20)...)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url("/api/v1/cameras/clip/annotations"), bytes.NewReader(append(body, '"', '}')))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusBadRequest || !bytes.Contains(text, []byte("padding"))) {
		err = fmt.Errorf("it is answered %s: %.300s; want segd's refusal of the unknown name", resp.Status, text)
	}
	return err
}

func (w *world) open(ctx context.Context, path string) (*browser.Page, error) {
	if w.chromium == nil { // with a profile of its own: cookies are for all ports of a host
		w.chromium = harness.Browser(w.t, "ignore-certificate-errors", "use-fake-device-for-media-stream", "use-fake-ui-for-media-stream")
	}
	return w.chromium.Open(ctx, browser.Tab{URL: w.url(path), Theme: "light", Width: 1000, Height: 700, Scale: 1})
}

// seen is where a page is and what it shows.
type seen struct {
	Path, State, Title string
	Frames             int
}

const look = `({path: location.pathname, state: document.body?.dataset.state ?? "",
  title: document.getElementById("veil-title")?.textContent ?? "", frames: Number(document.body?.dataset.frames ?? 0)})`

func until(ctx context.Context, p *browser.Page, what string, ok func(seen) bool) error {
	var s seen
	err := harness.Wait(ctx, stepLimit, what, func(ctx context.Context) error {
		if err := p.Evaluate(ctx, look, &s); err != nil {
			return err
		}
		if !ok(s) {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil {
		err = fmt.Errorf("%w; the page is %+v", err, s)
	}
	return err
}

func do(ctx context.Context, p *browser.Page, script string) error {
	return p.Evaluate(ctx, "(() => { "+script+"; return true; })()", new(bool))
}

func (w *world) watches(ctx context.Context) error {
	p, err := w.open(ctx, "")
	if err != nil {
		return err
	}
	if err := until(ctx, p, "the sign-in page", func(s seen) bool { return s.Path == base+"/login" }); err != nil {
		return err
	}
	const signIn = `const form = document.querySelector("form"); form.elements.token.value = %q; form.requestSubmit()`
	if err := do(ctx, p, fmt.Sprintf(signIn, token)); err != nil {
		return err
	}
	return until(ctx, p, "live pictures", func(s seen) bool { return s.Path == base+"/" && s.Frames > 1 })
}

func (w *world) publishes(ctx context.Context) error {
	p, err := w.open(ctx, "/publish/"+publisher)
	if err != nil {
		return err
	}
	const press = `document.getElementById("toggle").click()`
	for _, step := range []struct {
		what string
		is   func(seen) bool
	}{
		{"the page for publishing", func(s seen) bool { return s.Title == "Not sending" }},
		{"a session", func(s seen) bool { return s.State == "live" }}, // its pictures do not pass through the proxy
	} {
		if err := until(ctx, p, step.what, step.is); err != nil {
			return err
		}
		if err := do(ctx, p, press); err != nil {
			return err
		}
	}
	// It is ended at the Location that segd gave it.
	return harness.Wait(ctx, stepLimit, "the session's end", func(ctx context.Context) error {
		const asked = `performance.getEntriesByType("resource").map((entry) => entry.name).filter((name) => /whip\/[^/]+\/./.test(name))`
		var sessions []string
		if err := p.Evaluate(ctx, asked, &sessions); err != nil {
			return err
		}
		if len(sessions) != 1 || !strings.HasPrefix(sessions[0], w.url("/whip/"+publisher+"/")) {
			return fmt.Errorf("requests for %q", sessions)
		}
		return nil
	})
}

func (w *world) console(context.Context) error {
	// The end of its connection may have come to segd before the request that ends the session.
	gone := func(fault string) bool {
		return strings.Contains(fault, "404 (Not Found)") && strings.Contains(fault, "/whip/"+publisher+"/")
	}
	if faults := slices.DeleteFunc(w.chromium.Faults(), gone); len(faults) > 0 {
		return fmt.Errorf("%d complaints:\n%s", len(faults), strings.Join(faults, "\n"))
	}
	return nil
}
