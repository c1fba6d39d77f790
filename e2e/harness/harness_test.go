package harness

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWait(t *testing.T) {
	n := 0
	err := Wait(t.Context(), time.Minute, "three", func(context.Context) error {
		if n++; n < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if err != nil || n != 3 {
		t.Errorf("%v after asking %d times", err, n)
	}
	err = Wait(t.Context(), time.Millisecond, "rain", func(context.Context) error { return errors.New("the sun shines") })
	if err == nil || err.Error() != "rain: not within 1ms: the sun shines" {
		t.Errorf("%v", err)
	}
}

func TestMetrics(t *testing.T) {
	m, err := ParseMetrics([]byte(`# TYPE frames_total counter
frames_total{camera="a",outcome="published"} 3
frames_total{camera="b",outcome="published"} 4
frames_total{camera="b",outcome="failed"} 5
# TYPE latency_seconds histogram
latency_seconds_bucket{camera="a",le="+Inf"} 7
latency_seconds_sum{camera="a"} 1.5
latency_seconds_count{camera="a"} 7
# TYPE goroutines gauge
goroutines 12
`))
	require.NoError(t, err)
	for _, tt := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"frames_total", nil, 12},
		{"frames_total", []string{"outcome", "published"}, 7},
		{"frames_total", []string{"outcome", "published", "camera", "b"}, 4},
		{"frames_total", []string{"camera", "c"}, 0},
		{"latency_seconds", nil, 7},
		{"goroutines", nil, 12},
		{"none", nil, 0},
	} {
		assert.Equal(t, tt.want, m.Sum(tt.name, tt.labels...), "%s %q", tt.name, tt.labels)
	}
	if by := m.Values("frames_total", "camera"); by["a"] != 3 || by["b"] != 9 || len(by) != 2 {
		t.Errorf("by camera: %v", by)
	}
	if !m.Has("goroutines") || m.Has("none") {
		t.Error("metrics that are there, and are not")
	}
	_, err = ParseMetrics([]byte("<html>"))
	assert.Error(t, err, "a page is no metrics")
}

// What a program said is kept, and a second one of the same name adds to it.
func TestStart(t *testing.T) {
	for _, text := range []string{"first", "second"} {
		p := Start(t, "echo", "sh", "-c", "echo "+text+"; echo and on stderr >&2")
		<-p.Exited
		require.NoError(t, p.Err())
		assert.Equal(t, filepath.Join(t.ArtifactDir(), "echo.log"), p.Log, "it goes to")
	}
	said, err := os.ReadFile(filepath.Join(t.ArtifactDir(), "echo.log"))
	if want := "first\nand on stderr\nsecond\nand on stderr\n"; err != nil || string(said) != want {
		t.Errorf("kept %q, %v; want %q", said, err, want)
	}
}

func TestSaid(t *testing.T) {
	p := &Process{Log: filepath.Join(t.TempDir(), "log")}
	require.NoError(t, os.WriteFile(p.Log, []byte(strings.Repeat("a line\n", 100)), 0o600))
	assert.Equal(t, "a line\na line\n", string(p.said(17)), "the end is")
}

func TestNATS(t *testing.T) {
	n := StartNATS(t, "")
	conn := Connect(t, n.URL)
	_, err := conn.SubscribeSync("a")
	require.NoError(t, err)
	n.Kill()
	require.NoError(t, n.Start(t.Context()))
	Until(t, time.Minute, "the connection to come back", func(context.Context) error { return conn.FlushTimeout(time.Second) })
}

// A cluster has a leader, tells clients of no other servers, and is whole again after one of them was killed.
func TestNATSCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 14 s: a cluster whose servers are killed")
	}
	c := StartNATSCluster(t, 3, "")
	conn := Connect(t, c.Nodes[0].URL)
	if others := conn.DiscoveredServers(); len(others) > 0 {
		t.Errorf("a client is told of %q", others)
	}
	c.Nodes[1].Kill()
	assert.Error(t, c.Ready(t.Context()), "a server is gone, and the cluster is ready")
	require.NoError(t, c.Nodes[1].Start(t.Context()))
	Until(t, StartLimit, "the cluster to be whole", c.Ready)
}
