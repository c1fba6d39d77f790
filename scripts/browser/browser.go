// Package browser drives a headless Chromium by its DevTools, for the programs
// that look at the page as its users do.
package browser

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/coder/websocket"

	"github.com/segd/segd/scripts/process"
)

const (
	profileDirPattern = "segd-browser-*"
	devToolsLine      = "DevTools listening on "
	maxMessage        = 64 << 20 // bytes: a picture comes as base64 in JSON
)

// Browser is a headless Chromium and the connection to its DevTools.
type Browser struct {
	process *process.Process
	profile string
	conn    *websocket.Conn
	reading sync.WaitGroup

	mu         sync.Mutex // guards what follows
	id         int
	waiting    map[int]chan reply
	complaints []string
	broken     error // why reading ended
}

// reply is a message of DevTools: the answer to a call, or an event.
type reply struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Start runs the Chromium called name, with a profile of its own and the further
// arguments, and connects to it. End must follow.
func Start(ctx context.Context, name string, further ...string) (*Browser, error) {
	profile, err := os.MkdirTemp("", profileDirPattern)
	if err != nil {
		return nil, fmt.Errorf("profile for %s: %w", name, err)
	}
	b := &Browser{profile: profile, waiting: make(map[int]chan reply)}
	said := &lineWatch{prefix: devToolsLine, found: make(chan string, 1)}
	args := []string{
		"--headless=new", "--remote-debugging-port=0", "--user-data-dir=" + profile, "--hide-scrollbars",
		"--disable-gpu", "--no-first-run", "--disable-extensions", "--disable-background-networking",
		"--disable-component-update", "--disable-dev-shm-usage",
	}
	args = append(append(args, further...), "about:blank")
	if os.Geteuid() == 0 { // Chromium's sandbox refuses root; the page shown is ours
		args = append([]string{"--no-sandbox"}, args...)
	}
	if b.process, err = process.Run(ctx, said, name, args...); err != nil {
		_ = os.RemoveAll(profile)
		return nil, err
	}
	if err := b.connect(ctx, said); err != nil {
		b.End()
		return nil, fmt.Errorf("%s: %w; it said:\n%s", name, err, said)
	}
	return b, nil
}

func (b *Browser) connect(ctx context.Context, said *lineWatch) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-b.process.Exited:
		return errors.New("ended at once")
	case address := <-said.found:
		conn, _, err := websocket.Dial(ctx, address, nil)
		if err != nil {
			return fmt.Errorf("DevTools: %w", err)
		}
		conn.SetReadLimit(maxMessage)
		b.conn = conn
		b.reading.Go(b.read)
		return nil
	}
}

// Suspend stops the browser where it is; nothing but End can be done with it then.
func (b *Browser) Suspend() error { return b.process.Suspend() }

// End ends the browser and removes its profile.
func (b *Browser) End() {
	if b.conn != nil {
		_ = b.conn.CloseNow()
		b.reading.Wait()
	}
	b.process.End()
	_ = os.RemoveAll(b.profile)
}

// read hands answers to their callers and collects what the console says.
func (b *Browser) read() {
	for {
		_, data, err := b.conn.Read(context.Background())
		var r reply
		if err == nil {
			err = json.Unmarshal(data, &r)
		}
		b.mu.Lock()
		switch {
		case err != nil:
			b.broken = fmt.Errorf("DevTools: %w", err)
			for _, c := range b.waiting {
				close(c)
			}
			b.waiting = nil
			b.mu.Unlock()
			return
		case r.ID != 0:
			if c := b.waiting[r.ID]; c != nil {
				c <- r
				delete(b.waiting, r.ID)
			}
		default:
			if text := complaint(r); text != "" {
				b.complaints = append(b.complaints, text)
			}
		}
		b.mu.Unlock()
	}
}

// complaint is what an event says went wrong on the page; empty: nothing.
func complaint(r reply) string {
	switch r.Method {
	case "Runtime.exceptionThrown":
		return string(r.Params)
	case "Network.loadingFailed":
		// The page itself calls off a fetch when it wants something newer.
		if !bytes.Contains(r.Params, []byte(`"type":"Fetch"`)) || !bytes.Contains(r.Params, []byte(`"canceled":true`)) {
			return string(r.Params)
		}
	case "Runtime.consoleAPICalled", "Log.entryAdded":
		for _, level := range []string{`"type":"error"`, `"type":"warning"`, `"level":"error"`, `"level":"warning"`} {
			if bytes.Contains(r.Params, []byte(level)) {
				return string(r.Params)
			}
		}
	}
	return ""
}

// Faults is what the pages' consoles complained of.
func (b *Browser) Faults() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.complaints
}

// call asks DevTools and reads the answer into result, unless that is nil.
func (b *Browser) call(ctx context.Context, session, method string, params map[string]any, result any) error {
	answer := make(chan reply, 1)
	b.mu.Lock()
	if b.waiting == nil {
		defer b.mu.Unlock()
		return b.broken
	}
	b.id++
	id := b.id
	b.waiting[id] = answer
	b.mu.Unlock()

	message := map[string]any{"id": id, "method": method, "params": params}
	if session != "" {
		message["sessionId"] = session
	}
	data, err := json.Marshal(message)
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	if err := b.conn.Write(ctx, websocket.MessageText, data); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, context.Cause(ctx))
	case r, ok := <-answer:
		switch {
		case !ok:
			return fmt.Errorf("%s: the browser went away", method)
		case r.Error != nil:
			return fmt.Errorf("%s: %s", method, r.Error.Message)
		case result == nil:
			return nil
		}
		return json.Unmarshal(r.Result, result)
	}
}

// Tab says how a page is shown.
type Tab struct {
	URL                  string
	Theme                string // light or dark
	Width, Height, Scale int    // CSS pixels, and device pixels per one of them
	Touch                bool   // fingers instead of a mouse
}

// Page is one tab.
type Page struct {
	browser *Browser
	session string
}

// Open opens a page.
func (b *Browser) Open(ctx context.Context, tab Tab) (*Page, error) {
	var target struct{ TargetID string }
	if err := b.call(ctx, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return nil, err
	}
	var attached struct{ SessionID string }
	err := b.call(ctx, "", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	if err != nil {
		return nil, err
	}
	p := &Page{browser: b, session: attached.SessionID}
	for _, step := range []struct {
		method string
		params map[string]any
	}{
		{"Emulation.setDeviceMetricsOverride", map[string]any{
			"width": tab.Width, "height": tab.Height, "deviceScaleFactor": tab.Scale, "mobile": tab.Width < 600,
		}},
		// Every page believes that it is looked at, though only one can be in front.
		{"Emulation.setFocusEmulationEnabled", map[string]any{"enabled": true}},
		{"Emulation.setTouchEmulationEnabled", map[string]any{"enabled": tab.Touch, "maxTouchPoints": 5}},
		{"Emulation.setEmulatedMedia", map[string]any{
			"features": []map[string]string{{"name": "prefers-color-scheme", "value": tab.Theme}},
		}},
		{"Runtime.enable", nil},
		{"Log.enable", nil},
		{"Network.enable", nil},
		{"Page.enable", nil},
		{"Page.navigate", map[string]any{"url": tab.URL}},
	} {
		if err := b.call(ctx, p.session, step.method, step.params, nil); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Evaluate runs an expression in the page, waits for it if it is a promise, and
// reads its value into result.
func (p *Page) Evaluate(ctx context.Context, expression string, result any) error {
	var answer struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	err := p.browser.call(ctx, p.session, "Runtime.evaluate",
		map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &answer)
	if err != nil {
		return err
	}
	if e := answer.ExceptionDetails; e != nil {
		return fmt.Errorf("in the page: %s %s", e.Text, e.Exception.Description)
	}
	return json.Unmarshal(answer.Result.Value, result)
}

// Capture takes the picture, as PNG.
func (p *Page) Capture(ctx context.Context) ([]byte, error) {
	var picture struct{ Data []byte } // base64, as encoding/json reads bytes
	err := p.browser.call(ctx, p.session, "Page.captureScreenshot", map[string]any{"format": "png"}, &picture)
	return picture.Data, err
}

// lineWatch keeps what is written to it and reports the rest of the first line
// with a prefix.
type lineWatch struct {
	prefix string
	found  chan string // of capacity 1

	mu   sync.Mutex // guards what follows
	text strings.Builder
	done bool
}

func (l *lineWatch) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	if _, rest, ok := strings.Cut(l.text.String(), l.prefix); ok && !l.done {
		if line, _, whole := strings.Cut(rest, "\n"); whole {
			l.found <- strings.TrimSpace(line)
			l.done = true
		}
	}
	return len(p), nil
}

func (l *lineWatch) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
