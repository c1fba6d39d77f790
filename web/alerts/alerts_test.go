package alerts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/docs"
)

// alertmanager answers as one does, and counts.
func alertmanager(t *testing.T, answer func(w http.ResponseWriter)) (url string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if q := r.URL.Query(); r.URL.Path != "/am/api/v2/alerts" || q.Get("filter") != `alertname=~"Segd.+"` || q.Get("silenced") != "false" {
			t.Errorf("asked for %s", r.URL)
		}
		answer(w)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/am/", asked
}

func alert(name, severity string, since time.Time) map[string]any {
	return map[string]any{
		"labels": map[string]string{"alertname": name, "severity": severity}, "annotations": map[string]string{"summary": "s " + name, "description": "d"},
		"startsAt": since, "status": map[string]any{"state": "active"},
	}
}

func TestFiring(t *testing.T) {
	now := time.Now().UTC().Truncate(time.Second)
	url, asked := alertmanager(t, func(w http.ResponseWriter) {
		_ = json.NewEncoder(w).Encode([]any{
			alert("SegdClockOff", "info", now), alert("SegdStrange", "", now), alert("Watchdog", "critical", now), alert("", "critical", now), alert("SegdCameraDown", "critical", now.Add(-time.Hour)), alert("SegdDown", "critical", now),
		})
	})
	c := New(url, docs.Runbook, nil)
	for range 3 { // one answer for all who ask
		got, err := c.Firing(t.Context())
		require.NoError(t, err)
		var names []string
		for _, a := range got.Alerts {
			names = append(names, a.Name)
		}
		if text := strings.Join(names, " "); text != "SegdDown SegdCameraDown SegdClockOff SegdStrange" || got.More != 0 {
			t.Errorf("%s, and %d more", text, got.More)
		}
		if a := got.Alerts[2]; a.Summary != "s SegdClockOff" || a.Description != "d" || !a.Since.Equal(now) || a.Runbook != "The camera's clock, and so its capture times, are off by seconds. Set NTP on the camera." {
			t.Errorf("%+v", a)
		}
		if a := got.Alerts[3]; a.Runbook != "" {
			t.Errorf("the runbook has %q of an alert that it does not know", a.Runbook)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

// The runbook comes as plain text, with a line for each paragraph and point.
func TestSections(t *testing.T) {
	all := sections("# Runbook\n\n## SegdA\n\nOne [two\nthree](four.md#five). **Do\nnot**.\n\n- six\n  seven\n- eight\n\n    code\n    code\n\n## SegdB\n\nnine\n")
	for name, want := range map[string]string{"SegdA": "One two three. Do not.\n\n- six seven\n- eight\n\n    code\n    code", "SegdB": "nine"} {
		assert.Equal(t, want, all[name], "%s", name)
	}
}

// What goes wrong at the Alertmanager is bounded, and said once.
func TestBadAlertmanager(t *testing.T) {
	many := []any{}
	for i := range 1000 {
		many = append(many, alert(fmt.Sprintf("Segd%d%s", i, strings.Repeat("x", 2*maxText)), "warning", time.Now()))
	}
	thousand, err := json.Marshal(many)
	require.NoError(t, err)
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked elsewhere for %s", r.URL) }))
	defer elsewhere.Close()
	list := func(one string, n int) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) { _, _ = fmt.Fprintf(w, "[%s%s]", one, strings.Repeat(","+one, n-1)) }
	}
	large := `{"labels":{"alertname":"` + strings.Repeat("x", maxAlert/2) + `"}}`
	for _, tt := range []struct {
		name   string
		answer func(http.ResponseWriter)
		want   string // empty: no error
	}{
		{"junk", func(w http.ResponseWriter) { _, _ = w.Write([]byte("<html>")) }, "invalid character"},
		{"another shape", func(w http.ResponseWriter) { _, _ = w.Write([]byte(`{"alerts": 1}`)) }, "begins with {; want a list"},
		{"a list of others", func(w http.ResponseWriter) { _, _ = w.Write([]byte(`["a"]`)) }, "cannot unmarshal"},
		{"half", func(w http.ResponseWriter) { _, _ = w.Write([]byte(`[{},`)) }, "EOF"},
		{"a fault", func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) }, "502 Bad Gateway"},
		{"too much", func(w http.ResponseWriter) { _, _ = w.Write(bytes.Repeat([]byte(" "), maxAnswer+1)) }, "an alert larger than 64 KiB"},
		{"many", list("{}", 2_790_000), "more than 10000 alerts"},
		{"large ones", list(large, maxAnswer/len(large)+1), "larger than 8 MiB"},
		{"one too large", list(`{"labels":{`+strings.Repeat(`"":"",`, maxAlert)+`"":""}}`, 1), "an alert larger than 64 KiB"},
		{"endless headers", func(w http.ResponseWriter) {
			for i := range 64 {
				w.Header().Set(fmt.Sprint("H", i), strings.Repeat("x", 1<<10))
			}
		}, "exceeded"},
		{"elsewhere", func(w http.ResponseWriter) {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(http.StatusFound)
		}, "302 Found"},
		{"a thousand", func(w http.ResponseWriter) { _, _ = w.Write(thousand) }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			url, _ := alertmanager(t, tt.answer)
			var log bytes.Buffer
			c := New(url, docs.Runbook, slog.New(slog.NewTextHandler(&log, nil)))
			c.http.Timeout = 0 // whatever the machine takes to read
			for range 3 {
				got, err := c.Firing(t.Context())
				c.at = time.Time{}
				if tt.want != "" {
					assert.ErrorContains(t, err, tt.want)
					continue
				}
				if err != nil || len(got.Alerts) != maxAlerts || got.More != 1000-maxAlerts || len(got.Alerts[0].Name) >= 2*maxText {
					t.Errorf("%d and %d more: %v", len(got.Alerts), got.More, err)
				}
			}
			if said := strings.Count(log.String(), "\n"); said > 1 || (said == 1) != (tt.want != "") {
				t.Errorf("said %d times:\n%s", said, log.String())
			}
		})
	}
}

// One that is away or hangs costs a caller a few seconds at most, and is heard when it is back.
func TestAlertmanagerComesBack(t *testing.T) {
	release := make(chan struct{})
	url, _ := alertmanager(t, func(w http.ResponseWriter) {
		<-release
		_, _ = w.Write([]byte("[]"))
	})
	var log bytes.Buffer
	c := New(url, "", slog.New(slog.NewTextHandler(&log, nil)))
	_, err := c.Firing(t.Context())
	assert.ErrorContains(t, err, "deadline exceeded")
	close(release)
	c.at = time.Time{}
	if got, err := c.Firing(t.Context()); err != nil || got.Alerts == nil {
		t.Errorf("%+v, %v", got, err)
	}
	if text := log.String(); strings.Count(text, "\n") != 2 || !strings.Contains(text, "shows again") {
		t.Errorf("it says\n%s", text)
	}
}
