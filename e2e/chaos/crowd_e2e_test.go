//go:build e2e

package chaos

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mrand "math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/segd/segd/e2e/harness"
)

// How many there are, and what they take.
const (
	slowSubscribers = 200
	deafPages       = 50
	slowRead        = 512 // bytes a second
	badRate         = 100 // annotations a second
	// badBusy bounds the requests over HTTP that wait for an answer.
	badBusy = 64
)

// Each kind of client comes from an address of its own, since segd counts requests by it.
const (
	pagesFrom = "127.0.0.2"
	badFrom   = "127.0.0.3"
	goodFrom  = "127.0.0.4"
)

func from(ip string) *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}, Timeout: 5 * time.Second}
}

// crowd are clients as they should not be. They come back whenever they are cut off.
type crowd struct {
	done   sync.WaitGroup
	cancel context.CancelFunc

	subscribed, watched atomic.Int64 // connections made
	sent                atomic.Int64 // annotations that are none
	left                atomic.Int64 // not sent, because too many waited for an answer

	mu       sync.Mutex
	answered map[int]int // by HTTP status, and NATS' likewise
	wrong    []string    // what was accepted, or broke segd
}

// gather starts a crowd around a segd, until disperse.
func gather(ctx context.Context, s *harness.Segd, conn *nats.Conn, cameras []string, seed uint64) *crowd {
	ctx, cancel := context.WithCancel(ctx)
	c := &crowd{cancel: cancel, answered: map[int]int{}}
	again := func(once func() error) {
		c.done.Go(func() {
			for ctx.Err() == nil {
				_ = once() // how it was cut off is segd's affair
				_ = harness.Pause(ctx, time.Second)
			}
		})
	}
	for range slowSubscribers {
		again(func() error { return c.subscribe(ctx, strings.TrimPrefix(s.NATS, "nats://")) })
	}
	page := strings.TrimSuffix(strings.TrimPrefix(s.Page, "http://"), "/")
	for i := range deafPages {
		again(func() error { return c.watch(ctx, page, cameras[i%len(cameras)]) })
	}
	c.done.Go(func() { c.annoy(ctx, s.Page, conn, cameras, seed) })
	return c
}

// disperse ends the crowd and returns when the last one is gone.
func (c *crowd) disperse() {
	c.cancel()
	c.done.Wait()
}

// subscribe takes everything, far too slowly, until it is cut off.
func (c *crowd) subscribe(ctx context.Context, addr string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	if _, err := io.WriteString(conn, "CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB segd.v1.> 1\r\n"); err != nil {
		return err
	}
	c.subscribed.Add(1)
	buf := make([]byte, slowRead)
	for {
		if err := harness.Pause(ctx, time.Second); err != nil {
			return err
		}
		_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		if _, err := conn.Read(buf); err != nil && !isTimeout(err) {
			return err
		}
		if _, err := io.WriteString(conn, "PONG\r\n"); err != nil {
			return err
		}
	}
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// watch asks for a camera's pictures as the page does, and reads none of them, nor a
// refusal, until it is cut off.
func (c *crowd) watch(ctx context.Context, addr, camera string) error {
	conn, err := from(pagesFrom).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	key := make([]byte, 16)
	_, _ = rand.Read(key) // never fails
	if _, err := fmt.Fprintf(conn, "GET /api/v1/cameras/%s/live HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n",
		camera, addr, base64.StdEncoding.EncodeToString(key)); err != nil {
		return err
	}
	c.watched.Add(1)
	for {
		if err := harness.Pause(ctx, time.Second); err != nil {
			return err
		}
		// An unasked-for pong, masked (RFC 6455 section 5.5.3): what has been cut off shows.
		if _, err := conn.Write([]byte{0x8a, 0x80, 1, 2, 3, 4}); err != nil {
			return err
		}
	}
}

// annoy sends annotations that are none, by HTTP and NATS in turn.
func (c *crowd) annoy(ctx context.Context, page string, conn *nats.Conn, cameras []string, seed uint64) {
	random := mrand.New(mrand.NewPCG(seed, 1<<32))
	client := &http.Client{
		Timeout:   5 * time.Second,
		Transport: &http.Transport{DialContext: from(badFrom).DialContext, MaxIdleConnsPerHost: badBusy},
	}
	defer client.CloseIdleConnections()
	inbox := nats.NewInbox()
	answers, err := conn.Subscribe(inbox, func(m *nats.Msg) {
		code := 0
		_, _ = fmt.Sscan(m.Header.Get("Nats-Service-Error-Code"), &code)
		if code == 0 && m.Header.Get("Status") == "503" {
			return // no segd is there to answer
		}
		c.answer("NATS", code, m.Data)
	})
	if err == nil {
		defer func() { _ = answers.Unsubscribe() }()
	}
	busy := make(chan struct{}, badBusy)
	tick := time.NewTicker(time.Second / badRate)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		kind, body := bad(random, n)
		camera := cameras[random.IntN(len(cameras))]
		if n%2 == 0 {
			if conn.PublishMsg(&nats.Msg{Subject: "segd.v1.home." + camera + ".annotate", Reply: inbox, Data: body}) == nil {
				c.sent.Add(1)
			}
			continue
		}
		select {
		case busy <- struct{}{}:
		default:
			c.left.Add(1)
			continue
		}
		c.sent.Add(1)
		c.done.Go(func() {
			defer func() { <-busy }()
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, page+"api/v1/cameras/"+camera+"/annotations", bytes.NewReader(body))
			if err != nil {
				return
			}
			req.Header.Set("Content-Type", kind)
			resp, err := client.Do(req)
			if err != nil {
				return
			}
			defer func() { _ = resp.Body.Close() }()
			text, _ := io.ReadAll(resp.Body)
			c.answer("HTTP", resp.StatusCode, text)
		})
	}
}

// answer takes note of one. What is no annotation must be refused, and break nothing.
func (c *crowd) answer(by string, code int, text []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered[code]++
	if (code < 400 || code == http.StatusInternalServerError) && len(c.wrong) < 10 {
		c.wrong = append(c.wrong, fmt.Sprintf("%s answered %d to what is no annotation: %.300s", by, code, text))
	}
}

// bad makes the n-th annotation that is none, and the type it claims to be of.
func bad(random *mrand.Rand, n int) (kind string, body []byte) {
	const asJSON, asPNG = "application/json", "image/png"
	good := []byte(`{"width":320,"height":240,"objects":[{"id":1,"label":"person","box":[100,80,200,200]}]}`)
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	if n%1000 == 0 {
		return asJSON, noise(1 << 20)
	}
	switch random.IntN(10) {
	case 0:
		return asJSON, nil
	case 1:
		return asJSON, good[:1+random.IntN(len(good)-1)]
	case 2:
		return asPNG, append([]byte("\x89PNG\r\n\x1a\n"), noise(random.IntN(2000))...)
	case 3: // a header that promises 8192×8192
		return asPNG, append(header(8192, 8192, 16, 6), noise(100)...)
	case 4:
		return asJSON, []byte(strings.Repeat("[", 1+random.IntN(100_000)))
	case 5:
		return asJSON, []byte(fmt.Sprintf(`{"width":%d,"height":%d,"objects":[{"id":1,"box":[1,1,9,9]}]}`, random.Int32(), -random.Int32()))
	case 6:
		return asJSON, []byte(fmt.Sprintf(`{"width":320,"height":240,"objects":[{"id":%d,"box":[1e%d,1,9,9]}]}`, random.IntN(1000), 3+random.IntN(400)))
	case 7:
		text, _ := json.Marshal(map[string]any{"width": 320, "height": 240, "objects": string(noise(50))})
		return asJSON, text
	case 8:
		return asJSON, noise(random.IntN(500))
	default:
		return "text/" + string(rune('a'+random.IntN(26))), []byte(`{"objects":` + string(good) + `}`)
	}
}

// header is a PNG's signature and IHDR chunk; its CRC is not right.
func header(width, height uint32, depth, color byte) []byte {
	b := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR")
	b = binary.BigEndian.AppendUint32(b, width)
	b = binary.BigEndian.AppendUint32(b, height)
	return append(b, depth, color, 0, 0, 0, 0, 0, 0, 0)
}
