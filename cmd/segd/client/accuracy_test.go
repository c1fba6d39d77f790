package client

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/cli/clitest"
)

func TestEvalCamera(t *testing.T) {
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.Header.Get("Authorization") != "Bearer viewer" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch r.URL.Path {
		case "/api/v1/cameras/gate/accuracy":
			_, _ = io.WriteString(w, `{"records": [
				{"sequence": 7, "id": 256, "label": "person", "truth": 100, "mask": 100, "j": 0.6, "missed": 0.25, "false": 0.25},
				{"sequence": 7, "id": 0, "label": "cat\u001b", "truth": 50, "mask": 0, "j": 0, "missed": 1, "false": 0},
				{"sequence": 9, "id": 256, "label": "guard", "truth": 100, "mask": 110, "j": 0.9, "missed": 0, "false": 0.09},
				{"sequence": 9, "id": 3, "label": "bag", "truth": 0, "mask": 40, "j": 0, "missed": 0, "false": 1}
			]}`)
		case "/api/v1/cameras/yard/accuracy":
			_, _ = io.WriteString(w, `{"records": []}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"detail": "no camera \"moon\"; there are gate, yard"}`)
		}
	}))
	defer page.Close()
	eval := func(args ...string) (string, error) {
		c := clitest.Start(t, func(ctx context.Context, in io.Reader, out, err io.Writer) error {
			cmd := EvalCommand(cli.Streams{In: in, Out: out, Err: err})
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetArgs(append(args, "--page", page.URL))
			return cmd.ExecuteContext(ctx)
		})
		err := c.Wait(t)
		return c.Out.String(), err
	}
	out, err := eval("gate", "--token", "viewer")
	require.NoError(t, err)
	var lines []string
	for line := range strings.Lines(out) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"OBJECT FRAMES J MISSED FALSE",
		"bag 3 1 0.000 – 100.0 %",
		"guard 256 2 0.750 12.5 % 17.0 %",
		"cat" + strings.TrimPrefix(cli.Printable("cat\x1b"), "cat") + ", not followed 1 0.000 100.0 % –",
		"all 2 0.375 41.7 % 44.7 %",
	}
	assert.Equal(t, want, lines)

	out, err = eval("gate", "--token", "viewer", "--json")
	var s accuracySummary
	if err != nil || json.Unmarshal([]byte(out), &s) != nil || s.Camera != "gate" || s.Frames != 2 || s.J != 0.375 || len(s.Objects) != 3 || s.Objects[0].Missed != nil || *s.Objects[1].Missed != 0.125 || s.Objects[1].Label != "guard" {
		t.Errorf("%v, %s", err, out)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"yard", "--token", "viewer"}, "yard: no records of accuracy; to make some, freeze the picture in the page at " + page.URL + ", press Check accuracy"},
		{[]string{"moon", "--token", "viewer"}, `no camera "moon"; there are gate, yard`},
		{[]string{"gate"}, "accepted: --token TOKEN"},
		{nil, "CAMERA is missing"},
	} {
		if out, err := eval(tt.args...); out != "" || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %q, %v; want %q", tt.args, out, err, tt.want)
		}
	}
}
