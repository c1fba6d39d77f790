package natsconn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// wire is a link without NATS. What it makes of a message arrives at once.
type wire struct {
	to *conn
	// turn says what arrives instead of a message.
	turn func(message []byte) [][]byte
	fail error

	mu   sync.Mutex
	sent [][]byte
	left bool
}

func (w *wire) publish(message []byte) error {
	if w.fail != nil {
		return w.fail
	}
	message = slices.Clone(message)
	w.mu.Lock()
	w.sent = append(w.sent, message)
	w.mu.Unlock()
	arriving := [][]byte{message}
	if w.turn != nil {
		arriving = w.turn(message)
	}
	for _, m := range arriving {
		w.to.receive(m)
	}
	return nil
}

func (w *wire) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.left = true
}

// kinds are the kinds of what was sent.
func (w *wire) kinds() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var b []byte
	for _, m := range w.sent {
		b = append(b, m[0])
	}
	return string(b)
}

// wired returns the ends of a connection without NATS, which turn, if not nil, spoils.
func wired(cfg Config, turn func(message []byte) [][]byte) (a, b *conn, wa, wb *wire) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		panic(err)
	}
	a, b = newConn("a", "b", cfg), newConn("b", "a", cfg)
	wa, wb = &wire{to: b, turn: turn}, &wire{to: a, turn: turn}
	a.start(wa, nil, MaxData, cfg.Window)
	b.start(wb, nil, MaxData, cfg.Window)
	return a, b, wa, wb
}

// A connection nobody uses stays, by its pings.
func TestKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, wa, _ := wired(Config{}, nil)
		time.Sleep(61 * time.Second)
		if got, want := wa.kinds(), "ppppppppppppp"; got != want {
			t.Errorf("sent %s in 61 s; want %s", got, want)
		}
		go a.Write([]byte("x"))
		if n, err := b.Read(make([]byte, 2)); n != 1 || err != nil {
			t.Errorf("Read: %d, %v", n, err)
		}
		a.Close()
		synctest.Wait()
		if !wa.left || !strings.HasSuffix(wa.kinds(), "c") {
			t.Errorf("after Close: sent %s; left: %v", wa.kinds(), wa.left)
		}
		b.Close()
	})
}

// After Silence without a word the peer is gone, and is told so in case that it is not.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var deaf atomic.Bool
		a, b, wa, _ := wired(Config{}, func(m []byte) [][]byte {
			if deaf.Load() {
				return nil
			}
			return [][]byte{m}
		})
		time.Sleep(8 * time.Second)
		deaf.Store(true) // the last ping came at 5 s
		start := time.Now()
		_, err := a.Read(make([]byte, 1))
		if took := time.Since(start); took != 12*time.Second || !errors.Is(err, syscall.ECONNRESET) || !strings.Contains(err.Error(), "nothing came for 15s") {
			t.Errorf("after %v: %v", took, err)
		}
		synctest.Wait()
		if !strings.HasSuffix(wa.kinds(), "r") || !wa.left {
			t.Errorf("sent %s; left: %v", wa.kinds(), wa.left)
		}
		a.Close()
		b.Close()
	})
}

// A reader that does not read makes the writer wait, and the memory for it has a bound.
func TestFlowControl(t *testing.T) {
	for name, piece := range map[string]int{"large pieces": 1 << 20, "small pieces": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const window = 16 << 10
				a, b, _, _ := wired(Config{Window: window}, nil)
				defer b.Close()
				defer a.Close()
				write := func() (n int) {
					_ = a.SetWriteDeadline(time.Now().Add(time.Second))
					for {
						m, err := a.Write(bytes.Repeat([]byte("x"), piece))
						if n += m; err != nil {
							if !errors.Is(err, os.ErrDeadlineExceeded) {
								t.Error(err)
							}
							return n
						}
					}
				}
				first := write()
				if first < window/2 || first > window {
					t.Errorf("%d bytes were taken; want at most %d", first, window)
				}
				if again := write(); again != 0 {
					t.Errorf("then %d more", again)
				}
				b.mu.Lock()
				if cap(b.in.data) > window {
					t.Errorf("they take %d bytes of memory; want at most %d", cap(b.in.data), window)
				}
				b.mu.Unlock()
				// What is read is granted again, and the whole window is usable for ever.
				got := 0
				for range 20 {
					for b.in.len() > 0 {
						n, err := b.Read(make([]byte, 1000))
						if err != nil {
							t.Fatal(err)
						}
						got += n
						synctest.Wait()
					}
					if again := write(); again < first*2/3 {
						t.Fatalf("after reading, %d were taken; want about %d", again, first)
					}
				}
				if got < 19*first*2/3 {
					t.Errorf("read %d", got)
				}
			})
		})
	}
}

// Sides of unlike windows keep to the other's, and neither waits for ever.
func TestUnlikeWindows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		small, err := Config{Window: minWindow}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		large := small
		large.Window = 1 << 20
		a, b := newConn("a", "b", small), newConn("b", "a", large)
		a.start(&wire{to: b}, nil, MaxData, large.Window)
		b.start(&wire{to: a}, nil, MaxData, small.Window)
		var work sync.WaitGroup
		for i, c := range []*conn{a, b} {
			_ = c.SetDeadline(time.Now().Add(time.Minute))
			const size = 3 << 20
			work.Go(func() {
				if n, err := io.Copy(c, io.LimitReader(content(uint64(i)), size)); err != nil {
					t.Errorf("side %d: wrote %d bytes, %v", i, n, err)
				}
			})
			work.Go(func() {
				want, got := make([]byte, size), make([]byte, size)
				_, _ = io.ReadFull(content(uint64(1-i)), want)
				if n, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, want) {
					t.Errorf("side %d: read %d bytes, %v", i, n, err)
				}
			})
		}
		work.Wait()
		a.Close()
		b.Close()
	})
}

// What Write has taken arrives though Close follows at once; a Write that waits ends.
func TestCloseWhileWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, _, _ := wired(Config{}, nil)
		want := bytes.Repeat([]byte("0123456789"), 20_000)
		if _, err := a.Write(want); err != nil {
			t.Fatal(err)
		}
		written, failed := 0, error(nil)
		go func() { written, failed = a.Write(bytes.Repeat(want, 10)) }()
		synctest.Wait()
		a.Close()
		synctest.Wait()
		if !errors.Is(failed, net.ErrClosed) {
			t.Errorf("the Write that waited: %d, %v", written, failed)
		}
		want = append(want, bytes.Repeat(want, 10)[:written]...)
		if got, err := io.ReadAll(b); err != nil || !bytes.Equal(got, want) {
			t.Errorf("read %d bytes, %v; want %d", len(got), err, len(want))
		}
		b.Close()
		if b.in.data != nil {
			t.Error("after Close the buffer is held")
		}
	})
}

// Each Write arrives in one piece, though several write at once.
func TestConcurrentWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const writers, rounds, size = 4, 10, 50_000
		a, b, _, _ := wired(Config{}, nil)
		var work sync.WaitGroup
		for i := range writers {
			work.Go(func() {
				for range rounds {
					if n, err := a.Write(bytes.Repeat([]byte{byte(i)}, size)); n != size || err != nil {
						t.Errorf("wrote %d bytes, %v", n, err)
					}
				}
			})
		}
		piece := make([]byte, size)
		for range writers * rounds {
			if _, err := io.ReadFull(b, piece); err != nil || !bytes.Equal(piece, bytes.Repeat(piece[:1], size)) {
				t.Fatalf("a piece that is mixed, %v", err)
			}
		}
		work.Wait()
		a.Close()
		b.Close()
	})
}

// A buffer returns what it was given, and its memory has a bound.
func TestBuffer(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const limit = 10_000
	b := buffer{limit: limit}
	var want bytes.Buffer
	for range 2000 {
		p := make([]byte, random.IntN(3000))
		if random.IntN(2) == 0 {
			p = p[:min(len(p), limit-b.len())]
			for i := range p {
				p[i] = byte(random.Uint32())
			}
			b.write(p)
			want.Write(p)
		} else if n := b.read(p); !bytes.Equal(p[:n], want.Next(len(p))) {
			t.Fatal("read something else")
		}
		if b.len() != want.Len() || cap(b.data) > limit {
			t.Fatalf("%d bytes in %d of memory; want %d in at most %d", b.len(), cap(b.data), want.Len(), limit)
		}
	}
}

// A connection to NATS that takes nothing resets.
func TestPublishFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b, wa, _ := wired(Config{}, nil)
		synctest.Wait()
		wa.fail = errors.New("too much")
		_, err := a.Write([]byte("x"))
		if err == nil { // it was taken before that was known
			_, err = a.Read(make([]byte, 1))
		}
		if !errors.Is(err, syscall.ECONNRESET) || !strings.Contains(err.Error(), "too much") {
			t.Error(err)
		}
		a.Close()
		b.Close()
	})
}

// A network that loses, doubles, swaps and cuts messages delivers the beginning of what was
// written, or all of it, and never anything else.
func TestLoss(t *testing.T) {
	whole := 0
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			random, sizes := rand.New(rand.NewPCG(seed, 0)), rand.New(rand.NewPCG(seed, 1))
			var mu sync.Mutex // of random and held
			var held []byte
			rate := 0.02 * random.Float64()
			a, b, _, _ := wired(Config{Window: 16 << 10}, func(m []byte) [][]byte {
				mu.Lock()
				defer mu.Unlock()
				var out [][]byte
				switch {
				case held != nil:
					out, held = [][]byte{m, held}, nil
				case random.Float64() > rate:
					out = [][]byte{m}
				default:
					switch random.IntN(4) {
					case 0:
					case 1:
						out = [][]byte{m, m}
					case 2:
						held = m
					case 3:
						out = [][]byte{m[:random.IntN(headerSize)]}
					}
				}
				return out
			})
			want := make([]byte, 200_000)
			_, _ = io.ReadFull(content(seed), want)
			var work sync.WaitGroup
			work.Go(func() {
				for rest := want; len(rest) > 0; {
					n := 1 + sizes.IntN(min(len(rest), 10_000))
					if _, err := a.Write(rest[:n]); err != nil {
						break
					}
					rest = rest[n:]
				}
				a.Close()
			})
			got, err := io.ReadAll(b)
			work.Wait()
			b.Close()
			switch {
			case err == nil && bytes.Equal(got, want):
				whole++
			case !errors.Is(err, syscall.ECONNRESET) || !bytes.HasPrefix(want, got):
				t.Errorf("seed %d: read %d bytes, %v", seed, len(got), err)
			}
		})
	}
	if whole == 0 || whole == 200 {
		t.Errorf("%d of 200 were whole", whole)
	}
}

// What a peer may not do resets the connection, and the peer is told.
func TestReset(t *testing.T) {
	const window = minWindow
	data := func(number uint64, n int) []byte { return append(header(nil, kindData, number), make([]byte, n)...) }
	grant := func(number uint64, n uint32) []byte {
		return binary.BigEndian.AppendUint32(header(nil, kindGrant, number), n)
	}
	for _, tc := range []struct {
		name     string
		messages [][]byte
		want     string // of the fault; none if empty
	}{
		{"all it may", [][]byte{data(0, window-messageCost), header(nil, kindPing, 1)}, ""},
		{"more than its credit", [][]byte{data(0, window-messageCost+1)}, "want at most 4032"},
		{"more in two", [][]byte{data(0, 2000), data(1, window-2*messageCost-2000+1)}, "want at most 1968"},
		{"nothing for data", [][]byte{data(0, 0)}, "'d' of 9 bytes"},
		{"a gap", [][]byte{header(nil, kindPing, 0), data(2, 1)}, "message 2 came; want number 1"},
		{"one again", [][]byte{header(nil, kindPing, 0), header(nil, kindPing, 0)}, "message 0 came; want number 1"},
		{"a gap before the end", [][]byte{header(nil, kindClose, 1)}, "message 1 came"},
		{"a grant of what was not sent", [][]byte{grant(0, 1)}, "want at most 0"},
		{"a grant that overflows", [][]byte{grant(0, 1<<32-1)}, "want at most 0"},
		{"a long grant", [][]byte{append(grant(0, 0), 0)}, "'g' of 14 bytes"},
		{"a long ping", [][]byte{append(header(nil, kindPing, 0), 0)}, "'p' of 10 bytes"},
		{"a long end", [][]byte{append(header(nil, kindClose, 0), 0)}, "'c' of 10 bytes"},
		{"an unknown kind", [][]byte{header(nil, 'x', 0)}, "'x'"},
		{"short", [][]byte{{kindPing}}, "1 bytes"},
		{"empty", [][]byte{nil}, "0 bytes"},
		{"a reset", [][]byte{append(header(nil, kindReset, 99), "no\nmore\xff"...)}, "the peer says: no?more"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg, err := Config{Window: window}.withDefaults()
				if err != nil {
					t.Fatal(err)
				}
				c := newConn("a", "b", cfg)
				w := &wire{to: newConn("b", "a", cfg)}
				c.start(w, nil, MaxData, window)
				synctest.Wait()
				for _, m := range tc.messages {
					c.receive(m)
				}
				synctest.Wait()
				_ = c.SetReadDeadline(time.Now().Add(time.Second))
				_, err = io.ReadAll(c)
				if tc.want == "" {
					if !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Error(err)
					}
				} else if !errors.Is(err, syscall.ECONNRESET) || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("got %v; want %s", err, tc.want)
				}
				if told := strings.HasSuffix(w.kinds(), "r"); told != (tc.want != "" && tc.name != "a reset") {
					t.Errorf("sent %s", w.kinds())
				}
				c.Close()
			})
		})
	}
}

// FuzzReceive gives a connection messages of anybody's. Each begins in the input with a byte
// that says how it is made and a length; some get the right number, so that there are more.
func FuzzReceive(f *testing.F) {
	f.Add([]byte{0, 9, 'p', 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{1, 1, 'p', 1, 3, 'd', 'a', 'b', 3, 2, 'd', 'c', 1, 1, 'c'})
	f.Add([]byte{3, 5, 'g', 0, 0, 0, 1, 1, 4, 'r', 'x', 'y', 'z'})
	f.Add(bytes.Repeat([]byte{5, 200, 'd', 1}, 40))
	f.Add(bytes.Repeat([]byte{7, 200, 'd', 1}, 60))
	f.Fuzz(func(t *testing.T, input []byte) {
		const window = minWindow
		cfg, err := Config{Window: window}.withDefaults()
		if err != nil {
			t.Fatal(err)
		}
		c := newConn("a", "b", cfg)
		c.window, c.credit, c.maxData = window, window/2, MaxData // half is under way
		// What a simple reader of the protocol makes of the same.
		var want, got []byte
		number, unread, owed, credit, over := uint64(0), 0, 0, window/2, false
		b := make([]byte, 100)
		for len(input) >= 2 {
			how, n := input[0], int(input[1])
			n = min(n, len(input)-2)
			message := slices.Clone(input[2 : 2+n])
			input = input[2+n:]
			if how&1 != 0 && n > 0 {
				message = append(header(nil, message[0], number), message[1:]...)
			}
			if how&4 != 0 && n > 0 { // longer than its input
				message = append(message, make([]byte, 300)...)
			}
			c.receive(message)
			if !over && len(message) >= headerSize {
				body := message[headerSize:]
				right := binary.BigEndian.Uint64(message[1:]) == number
				switch kind := message[0]; {
				case right && kind == 'd' && len(body) > 0 && unread+owed+len(body)+messageCost <= window:
					want = append(want, body...)
					unread += len(body)
					owed += messageCost
				case right && kind == 'g' && len(body) == 4 && int64(binary.BigEndian.Uint32(body)) <= int64(window-credit):
					credit += int(binary.BigEndian.Uint32(body))
				case right && kind == 'p' && len(body) == 0:
				default:
					over = true
				}
				number++
			} else {
				over = true
			}
			if c.over() != over {
				t.Fatalf("after %q: over is %v; want %v (%v)", message, c.over(), over, c.fault)
			}
			if how&2 != 0 && c.in.len() > 0 {
				n, err := c.Read(b)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, b[:n]...)
				unread -= n
				owed += n
			}
			if how&8 != 0 && !over {
				if m, _ := c.next(nil, false); m != nil {
					if m[0] != kindGrant || int(binary.BigEndian.Uint32(m[headerSize:])) != owed {
						t.Fatalf("sends %q; want a grant of %d", m, owed)
					}
					owed = 0
				}
			}
			if c.in.len() != unread || cap(c.in.data) > window || c.credit != credit {
				t.Fatalf("%d bytes wait in %d of memory, credit %d; want %d, %d and %d", c.in.len(), cap(c.in.data), c.credit, unread, window, credit)
			}
		}
		for c.in.len() > 0 {
			n, _ := c.Read(b)
			got = append(got, b[:n]...)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("read %q; want %q", got, want)
		}
	})
}

// FuzzHello gives a request to open to a listener. What it takes is safe to answer.
func FuzzHello(f *testing.F) {
	f.Add(hello{Window: minWindow, Inbox: "_INBOX.x.natsconn.y"}.marshal())
	f.Add(hello{Refused: "no"}.marshal())
	f.Add([]byte(`{"version": 1, "window": 5000, "inbox": "segd.>.natsconn.x"}`))
	f.Add([]byte(`{"version": 1, "window": 5000, "inbox": "a b.natsconn.x\r\nPUB a 0"}`))
	f.Add([]byte(`{"version": 1, "window": 5000, "inbox": "natsconn.x"}`))
	f.Add([]byte(`{"version": 1, "window": 5000, "inbox": "a..natsconn.x"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := parseHello(data)
		if err != nil {
			if refusal := reason(err.Error()); strings.ContainsAny(refusal, "\r\n\x00") {
				t.Errorf("refuses with %q", refusal)
			}
			return
		}
		if strings.ContainsAny(h.Inbox, " \t\r\n\x00") || strings.Contains(h.Inbox, "..") || !strings.Contains(h.Inbox, ".natsconn.") ||
			strings.HasPrefix(h.Inbox, ".") || strings.HasSuffix(h.Inbox, ".") {
			t.Errorf("would publish to %q", h.Inbox)
		}
		for token := range strings.SplitSeq(h.Inbox, ".") {
			if token == "*" || token == ">" {
				t.Errorf("would publish to %q", h.Inbox)
			}
		}
		if h.Window < minWindow || h.Window > maxWindow || string(inboxAddr(h.Inbox)) == h.Inbox {
			t.Errorf("takes %+v", h)
		}
	})
}
