package bus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
)

// A second segd with a camera of the first's is refused, and told whose it is; one with
// other cameras, or at another site, or that says it is meant, is not.
func TestSecondSegd(t *testing.T) {
	port := freePort(t)
	natsServer(t, server.Options{Port: port})
	first := open(t, Config{External: External{URL: urlOf(port)}, Site: "here"})
	eventually(t, "a connection", first.Connected)
	require.NoError(t, first.Serve(granting("gate", "yard")))
	host, err := os.Hostname()
	require.NoError(t, err)
	for name, tt := range map[string]struct {
		cfg     Config
		cameras []string
		want    []string // of the refusal; none: it is not refused
	}{
		"the same":     {Config{Site: "here"}, []string{"gate"}, []string{"camera gate of site here", fmt.Sprintf("host %q", host), fmt.Sprintf("process %d", os.Getpid()), "nats.duplicates"}},
		"one of them":  {Config{Site: "here"}, []string{"attic", "yard"}, []string{"camera yard of site here"}},
		"others":       {Config{Site: "here"}, []string{"attic", "cellar"}, nil},
		"another site": {Config{Site: "there"}, []string{"gate", "yard"}, nil},
		"meant":        {Config{Site: "here", Duplicates: true}, []string{"gate"}, nil},
	} {
		tt.cfg.URL = urlOf(port)
		second := open(t, tt.cfg)
		eventually(t, "a connection", second.Connected)
		err := second.Serve(granting(tt.cameras...))
		if (err != nil) != (tt.want != nil) || (err != nil && !errors.Is(err, ErrTaken)) {
			t.Errorf("%s: %v", name, err)
		}
		for _, want := range tt.want {
			if err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "attic")) {
				t.Errorf("%s: %q misses %q", name, err, want)
			}
		}
		if tt.want != nil { // it answers for none of them either
			info := second.claims.now()
			if len(info.Holds)+len(info.Wants) > 0 {
				t.Errorf("%s: refused, and claims %v %v", name, info.Holds, info.Wants)
			}
		}
		closeNow(t, second)
	}
	if n := first.Stats().Duplicates; n != 0 { // those that were refused are none, nor is one that is meant
		t.Errorf("%d duplicates", n)
	}
	// Its own cameras are no others', and those it gives up are free.
	assert.NoError(t, first.Serve(granting("gate")), "again")
	second := open(t, Config{External: External{URL: urlOf(port)}, Site: "here"})
	eventually(t, "a connection", second.Connected)
	assert.NoError(t, second.Serve(granting("yard")), "a camera that was given up")
	closeNow(t, first)
	assert.NoError(t, second.Serve(granting("yard", "gate")), "those of one that has ended")
}

// Of several that start at the same moment exactly one runs.
func TestSimultaneousStart(t *testing.T) {
	port := freePort(t)
	natsServer(t, server.Options{Port: port})
	const n = 4
	for round := range 5 {
		var all [n]*Bus
		for i := range all {
			all[i] = open(t, Config{External: External{URL: urlOf(port)}, Site: "here"})
			eventually(t, "a connection", all[i].Connected)
		}
		var errs [n]error
		var starting sync.WaitGroup
		for i, b := range all {
			starting.Go(func() {
				time.Sleep(time.Duration(i*round) * claimTime / 8) // at once, or while the first still asks
				errs[i] = b.Serve(granting("gate"))
			})
		}
		starting.Wait()
		run := 0
		for _, err := range errs {
			if err == nil {
				run++
			} else if !errors.Is(err, ErrTaken) {
				t.Error(err)
			}
		}
		if run != 1 {
			t.Errorf("round %d: %d of %d run: %v", round, run, n, errs)
		}
		for _, b := range all {
			closeNow(t, b)
		}
	}
}

// Neither one's own earlier connection nor one that was killed is another segd: the
// claims of the dead end with them.
func TestClaimsAfterReconnectAndKill(t *testing.T) {
	port := freePort(t)
	stop := natsServer(t, server.Options{Port: port})
	lines := make(chan string, 1000)
	b := open(t, Config{External: External{URL: urlOf(port)}, Site: "here", Logger: logTo(lines)})
	eventually(t, "a connection", b.Connected)
	require.NoError(t, b.Serve(granting("gate")))
	stop()
	natsServer(t, server.Options{Port: port})
	eventually(t, "connected again", func() bool { return b.Connected() && b.Stats().Reconnects > 0 })
	time.Sleep(2 * claimTime) // for what must not come
	assert.Equal(t, 0, b.Stats().Duplicates, "duplicates after reconnecting")
	assert.NoError(t, b.Serve(granting("gate")))

	// Cut off without a word, as by a power cut: the server takes it for connected.
	between := freePort(t)
	_, cut := forward(t, between, port)
	dead, err := Open(t.Context(), Config{External: External{URL: urlOf(between)}, Site: "here", DrainTimeout: time.Millisecond})
	require.NoError(t, err)
	defer func() { _ = dead.Close() }() // it cannot say what it has
	eventually(t, "a connection", dead.Connected)
	closeNow(t, b)
	require.NoError(t, dead.Serve(granting("gate")))
	cut()
	start := time.Now()
	again := open(t, Config{External: External{URL: urlOf(port)}, Site: "here"})
	eventually(t, "a connection", again.Connected)
	assert.NoError(t, again.Serve(granting("gate")), "after a kill")
	t.Logf("taken over after %v", time.Since(start))
}

// Two that found no server when they started, or were on the two sides of a split, are
// told when they meet, and both go on.
func TestDuplicatesMeet(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: a cluster that is split")
	}
	one, two, cluster, bridge := freePort(t), freePort(t), freePort(t), freePort(t)
	clusterOf := func(port int) server.ClusterOpts {
		return server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: port, PoolSize: -1}
	}
	natsServer(t, server.Options{Port: one, ServerName: "one", Cluster: clusterOf(cluster)})
	natsServer(t, server.Options{Port: two, ServerName: "two", Cluster: clusterOf(freePort(t)),
		Routes: []*url.URL{{Scheme: "nats", Host: fmt.Sprintf("127.0.0.1:%d", bridge)}}})
	var lines [2]chan string
	var both [2]*Bus
	for i, port := range []int{one, two} {
		lines[i] = make(chan string, 10000)
		both[i] = open(t, Config{External: External{URL: urlOf(port)}, Site: "here", Logger: logTo(lines[i])})
		eventually(t, "a connection", both[i].Connected)
		if err := both[i].Serve(granting("gate")); err != nil {
			t.Fatal(err) // there is no way from the one to the other yet
		}
	}
	forward(t, bridge, cluster)
	for i, b := range both {
		eventually(t, "the other is noticed", func() bool { return b.Stats().Duplicates == 1 })
		line := ""
		for !strings.Contains(line, "another segd publishes the same cameras") {
			line = receive(t, lines[i])
		}
		if !strings.Contains(line, "gate") || !strings.Contains(line, "host") {
			t.Errorf("%q names neither camera nor host", line)
		}
		assert.NoError(t, b.PublishMask(maskFrame("gate", 1)), "it does not go on")
	}
	closeNow(t, both[1])
	eventually(t, "the other is gone", func() bool { return both[0].Stats().Duplicates == 0 })
}

// forward is a way from one port to another, from now on until the test ends; cut has it
// lose everything.
func forward(t *testing.T, from, to int) (stop, cut func()) {
	t.Helper()
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", from))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	var lossy atomic.Bool
	carry := func(dst, src net.Conn) {
		buf := make([]byte, 32<<10)
		for {
			n, err := src.Read(buf)
			if err != nil {
				return
			}
			if lossy.Load() {
				continue
			}
			if _, err := dst.Write(buf[:n]); err != nil {
				return
			}
		}
	}
	running.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", to))
			if err != nil {
				_ = in.Close()
				continue
			}
			context.AfterFunc(ctx, func() { _, _ = in.Close(), out.Close() })
			running.Go(func() { carry(in, out); _ = in.Close() })
			running.Go(func() { carry(out, in); _ = out.Close() })
		}
	})
	stop = sync.OnceFunc(func() { cancel(); _ = l.Close(); running.Wait() })
	t.Cleanup(stop)
	return stop, func() { lossy.Store(true) }
}

// What is no claim, or of a camera that is not here, changes nothing.
func TestStrangeClaims(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 3 s: waits for what must not come")
	}
	b := open(t, Config{Site: "here"})
	require.NoError(t, b.Serve(granting("gate")))
	nc := connect(t, b.URL())
	for _, payload := range []string{"", "{", "[]", `{"instance": 1}`, `{"instance":"x","holds":["attic"]}`, `{"holds":["gate"]}`, strings.Repeat("[", 10000)} {
		if reply, err := nc.Request("segd.v1.here.claim", []byte(payload), claimTime); err == nil {
			t.Errorf("%.30q is answered %q", payload, reply.Data)
		}
	}
	for i := range 10 * maxDuplicates {
		require.NoError(t, nc.Publish("segd.v1.here.claim", fmt.Appendf(nil, `{"instance":"%d","host":"h\nx","holds":["gate"]}`, i)))
	}
	eventually(t, "they are seen", func() bool { return b.Stats().Duplicates > 0 })
	require.NoError(t, nc.Flush())
	if n := b.Stats().Duplicates; n > maxDuplicates {
		t.Errorf("%d duplicates are remembered", n)
	}
	watch(t, b.URL(), "segd.v1.>", Handlers{Bad: func(subject string, err error) { t.Errorf("%s: %v", subject, err) }})
	require.NoError(t, nc.Publish("segd.v1.here.claim", []byte("{}")))
	require.NoError(t, b.PublishStatus(&segdv1.Status{Camera: "gate"}))
}

// Once a camera is given up, nothing says any more that it is held: another segd may ask for it.
func TestGivenUpIsNotClaimed(t *testing.T) {
	port := freePort(t)
	natsServer(t, server.Options{Port: port})
	b := open(t, Config{External: External{URL: urlOf(port)}, Site: "here", Duplicates: true})
	eventually(t, "a connection", b.Connected)
	require.NoError(t, b.Serve(granting("gate", "yard")))
	stop := make(chan struct{})
	var saying sync.WaitGroup
	saying.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				b.claims.look()
			}
		}
	})
	defer saying.Wait()
	defer close(stop)
	nc := connect(t, urlOf(port))
	for range 100 {
		for _, names := range [][]string{{"gate", "yard"}, {"yard"}} {
			require.NoError(t, b.Cameras(names))
		}
		sub, err := nc.SubscribeSync(claimSubject("here"))
		require.NoError(t, err)
		for range 3 { // claims, one after another
			msg, err := sub.NextMsg(patience)
			require.NoError(t, err)
			assert.NotContains(t, string(msg.Data), "gate", "without gate it says")
		}
		require.NoError(t, sub.Unsubscribe())
	}
}
