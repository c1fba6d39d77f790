package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/segd/segd/config"
)

// Whatever is long is cut in the log, in one place, and how long it was is told.
func TestLogIsCut(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	for _, format := range []string{"text", "json"} {
		var out strings.Builder
		log, _ := newLogger(&out, config.Log{Level: "info", Format: format})
		line := func(most int, said ...string) {
			t.Helper()
			text := out.String()
			out.Reset()
			if len(text) > most || !strings.HasSuffix(text, "\n") {
				t.Errorf("%s: a line of %d bytes, want at most %d", format, len(text), most)
			}
			for _, word := range said {
				if !strings.Contains(text, word) {
					t.Errorf("%s: it lacks %q: %.300s", format, word, text)
				}
			}
		}
		const cut, of = 3 << 10, "(200000 bytes)"
		log.Info(long)
		line(cut, of)
		log.Info("a url", "url", "rtsp://x/"+long)
		line(cut, "(200009 bytes)", "rtsp://x/")
		log.Info("an error", "error", fmt.Errorf("dial: %w", errors.New(long)))
		line(cut, "(200006 bytes)", "dial: ")
		log.With("camera", long).WithGroup("in").Info("below", slog.Group("a", "b", long))
		line(2*cut, of)
		log.Info("a list", "added", []string{long, long})
		line(cut, "(400003 bytes)")
		log.Info("a panic", "stack", long)
		line(64<<10+1<<10, of)
		log.Info("as they are", "added", []string{"gate", "yard"}, "error", errors.New("gone"), "n", 3)
		line(cut, "gate", "yard", "gone")
	}
}
