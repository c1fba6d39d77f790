package web

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestAlerts(t *testing.T) {
	const firing = `{"alerts":[{"name":"SegdDown","severity":"critical","summary":"s","description":"d","since":"2026-11-28T01:00:00Z","runbook":"r"}],"more":0}`
	for name, tt := range map[string]struct {
		alerts func(context.Context) ([]byte, error)
		status int
	}{
		"nobody knows": {nil, 404},
		"they fire":    {func(context.Context) ([]byte, error) { return []byte(firing), nil }, 200},
		"away":         {func(context.Context) ([]byte, error) { return nil, errors.New("it is away") }, 502},
	} {
		t.Run(name, func(t *testing.T) {
			_, h := serve(t, Config{Alerts: tt.alerts}, "gate")
			a := ask(t, "GET", h.URL+"/api/v1/alerts", "", "")
			if a.status != tt.status || tt.status == 200 && strings.TrimSpace(a.body) != firing {
				t.Errorf("%d: %s", a.status, a.body)
			}
			if err := describedAPI(t).check("GET", "/alerts", a); err != nil {
				t.Error(err)
			}
			if list := ask(t, "GET", h.URL+"/api/v1/cameras", "", ""); list.status != 200 || describedAPI(t).check("GET", "/cameras", list) != nil {
				t.Errorf("%d: %s", list.status, list.body)
			}
		})
	}
}
