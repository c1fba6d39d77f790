package web

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/segd/segd/api"
)

func reloads(context.Context) (api.Reloaded, error) {
	return api.Reloaded{Added: []string{"yard"}, Restart: []string{"http.addr"}}, nil
}

// The configuration is read again on request, by a program of this site, and refusals say where the fault is.
func TestReload(t *testing.T) {
	fail := error(nil)
	_, h := serve(t, Config{Reload: func(ctx context.Context) (api.Reloaded, error) {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("no deadline")
		}
		if fail != nil {
			return api.Reloaded{}, fail
		}
		return reloads(ctx)
	}}, "gate")
	const path = "/api/v1/config/reload"
	for _, tt := range []struct {
		method string
		fail   error
		header []string
		status int
		want   string
	}{
		{"POST", nil, nil, 200, `{"added":["yard"],"changed":[],"removed":[],"restart":["http.addr"]}` + "\n"},
		{"POST", &api.Refusal{Status: 422, Detail: "the file", Fields: []api.Field{{Pointer: "/cameras/0/url", Detail: "ftp"}}}, nil, 422, `"errors":[{"pointer":"/cameras/0/url","detail":"ftp"}]`},
		{"POST", errors.New("a camera is not there"), nil, 500, "a camera is not there"},
		{"POST", nil, []string{"Sec-Fetch-Site", "cross-site"}, 403, "other sites"},
		{"GET", nil, nil, 405, "POST"},
	} {
		fail = tt.fail
		a := ask(t, tt.method, h.URL+path, "", "", tt.header...)
		a.want(t, tt.status, tt.want, "%s", tt.method)
		if err := describedAPI(t).check(tt.method, strings.TrimPrefix(path, apiRoot), a); err != nil {
			t.Error(err)
		}
	}
	// Without a configuration to read the path is there, and says so.
	_, h = serve(t, Config{}, "gate")
	ask(t, "POST", h.URL+path, "", "").want(t, 404, "without a configuration file", "without a configuration to read")
	if a := ask(t, "TRACE", h.URL+path, "", ""); a.status != 405 || a.header.Get("Allow") != "POST" {
		t.Errorf("another method, without a configuration to read: %d, Allow %q", a.status, a.header.Get("Allow"))
	}
}
