package client

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/cmd/segd/cli"
)

// The page is asked by those flags that other commands have for it. What is not done ends reload with an error, and is
// printed all the same.
func TestReloadByPage(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/below/api/v1/config/reload" {
			t.Errorf("asked for %s %s", r.Method, r.URL)
		}
		answer := map[string]string{
			"": `{"detail":"unauthorized"}`, "Bearer done": `{"added":["yard"],"changed":[],"removed":[],"restart":[]}`,
			"Bearer half": `{"added":[],"changed":["gate"],"removed":[],"restart":["site","http.addr"]}`,
			"Bearer junk": "<html>", "Bearer wrong": `{"detail":"cameras[0].url: missing"}`,
		}[r.Header.Get("Authorization")]
		switch r.Header.Get("Authorization") {
		case "":
			w.WriteHeader(http.StatusUnauthorized)
		case "Bearer wrong":
			w.WriteHeader(http.StatusUnprocessableEntity)
		case "Bearer junk":
			w.WriteHeader(http.StatusBadGateway)
		}
		_, _ = w.Write([]byte(answer))
	}))
	defer page.Close()
	for _, tt := range []struct {
		token, out, fault string
		status            int
	}{
		{"done", "added: yard\n", "", 0},
		{"half", "changed: gate\ntakes a restart: site, http.addr\n", "site, http.addr: segd runs without these changes", cli.ExitFailure},
		{"", "", "accepted: --token TOKEN", cli.ExitUsage},
		{"wrong", "", "cameras[0].url: missing", cli.ExitUsage},
		{"junk", "", "answers 502", cli.ExitFailure},
	} {
		c := start(t, "reload", "--page", page.URL+"/below/", "--token", tt.token)
		err := c.Wait(t)
		if got := c.Out.String(); got != tt.out || cli.Status(err) != tt.status || err != nil && !strings.Contains(err.Error(), tt.fault) {
			t.Errorf("%s: %q, status %d, %v", tt.token, got, cli.Status(err), err)
		}
		if refused := tt.token == "wrong"; errors.Is(err, bus.ErrRejected) != refused {
			t.Errorf("%s: %v", tt.token, err)
		}
	}
	if err := start(t, "reload", "--page", "box").Wait(t); err == nil || cli.Status(err) != cli.ExitUsage {
		t.Errorf("of no URL: %v", err)
	}
}
