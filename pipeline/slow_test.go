package pipeline

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/segd/segd/ingest"
	"github.com/segd/segd/tracker"
)

// slowItem is a frame that the features' stage held up.
func slowItem(received time.Time) *item {
	at := func(ms int) time.Time { return received.Add(time.Duration(ms) * time.Millisecond) }
	it := &item{seq: 7, frame: &ingest.Frame{Captured: at(-5), Received: received}}
	it.began[StageFeatures], it.ended[StageFeatures] = at(10), at(610)
	it.began[StageTrack] = at(650)
	return it
}

func TestSlowFrames(t *testing.T) {
	var out bytes.Buffer
	log := slog.New(slog.NewJSONHandler(&out, nil)).With(keyCamera, "gate")
	var slow slowFrames
	received := time.Unix(1000, 0)
	solve := tracker.Solve{AffinityTime: 20 * time.Millisecond, SolveTime: 30 * time.Millisecond, MaskTime: 10 * time.Millisecond}
	for i := range 1250 { // ten a second
		now := received.Add(time.Duration(750+100*i) * time.Millisecond)
		slow.add(log, slowItem(received.Add(time.Duration(100*i)*time.Millisecond)), solve, 755*time.Millisecond, now)
	}
	lines := bytes.Split(bytes.TrimSpace(out.Bytes()), []byte("\n"))
	if len(lines) != 3 {
		t.Fatalf("%d lines in 125 s, want one a minute:\n%s", len(lines), out.String())
	}
	var got map[string]any
	if err := json.Unmarshal(lines[1], &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]any{
		"msg": "slow frame", "camera": "gate", "seq": 7., "latency_ms": 755., "stage": "features", "others": 599.,
		"transit_ms": 5., "wait_features_ms": 10., "features_ms": 600., "wait_track_ms": 40., "track_ms": 100.,
		"affinity_ms": 20., "solve_ms": 30., "mask_ms": 10.,
	} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	sum := 0.
	for _, part := range []string{"transit", "wait_features", "features", "wait_track", "track"} {
		sum += got[part+"_ms"].(float64)
	}
	if math.Abs(sum-got["latency_ms"].(float64)) > 0.5 {
		t.Errorf("the parts add up to %v ms, the latency is %v ms", sum, got["latency_ms"])
	}
}
