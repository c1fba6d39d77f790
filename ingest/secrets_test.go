package ingest

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/ingest/demo"
)

// Wherever cameras want their password, it shows in no log, no error, no status and
// no event, whether the camera is up, refuses, has no such stream, speaks another
// protocol or is gone.
func TestSecretsShowNowhere(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 4 s: cameras that refuse and are gone")
	}
	t.Parallel()
	gone := serve(t, clip(t, clipConfig), demo.Config{})
	gone.Close()
	locked := serve(t, clip(t, clipConfig), demo.Config{User: "admin", Password: "another"})
	none := serveHTTP(t, http.NotFound)
	page := serveHTTP(t, func(http.ResponseWriter, *http.Request) {})
	hosts := map[string]string{
		"gone": "rtsp://" + address(gone), "locked": "rtsp://" + address(locked), "no TLS": "rtsps://" + address(locked), "no such host": "rtsp://no-such-host.invalid",
		"no RTSP": "rtsp://" + strings.Split(none, "/")[2], "404": strings.TrimSuffix(none, "/video"), "a page": strings.TrimSuffix(page, "/video"),
		"snapshot": strings.Replace(strings.TrimSuffix(page, "/video"), "mjpeg+", "snapshot+", 1),
	}
	for name, host := range hosts {
		for _, path := range []string{"/1", "/user=admin&password=s3cret&channel=1.sdp", "/v?token=s3cret", "/1;pwd=s3cret", "/admin:s3cret@1", "/user%3Dadmin%26password%3Ds3cret", "/%73user:s3cret/1"} {
			t.Run(name+path, func(t *testing.T) {
				t.Parallel()
				for _, user := range []string{"", "admin:s3cret@"} {
					var log lockedBuffer
					cfg := testConfig(strings.Replace(host, "//", "//"+user, 1)+path, "tcp")
					cfg.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
					var told error
					ctx, cancel := context.WithTimeout(t.Context(), patience)
					cfg.Observer = Observer{Retry: func(err error, _ time.Duration) { told = err; cancel() }}
					s, err := Open(cfg)
					require.NoError(t, err)
					_ = s.Run(ctx, func(f *Frame) { f.Release() })
					cancel()
					require.Error(t, told, "nothing was told of the camera")
					for what, text := range map[string]string{"log": log.String(), "error": told.Error(), "name": s.Name()} {
						assert.NotContains(t, text, "s3cret", "%s", what)
					}
				}
			})
		}
	}
}
