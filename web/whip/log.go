package whip

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/pion/logging"
)

// pionLog gives pion's many words to our log, all of them at the level of debug:
// what matters of them comes back as errors and states too.
type pionLog struct{ log *slog.Logger }

func (l pionLog) NewLogger(scope string) logging.LeveledLogger {
	return pionLog{l.log.With("pion", scope)}
}

func (l pionLog) sayf(format string, args ...any) {
	if l.log.Enabled(context.Background(), slog.LevelDebug) {
		l.log.Debug(fmt.Sprintf(format, args...))
	}
}

func (pionLog) Trace(string)                       {}
func (pionLog) Tracef(string, ...any)              {}
func (pionLog) Debug(string)                       {}
func (pionLog) Debugf(string, ...any)              {}
func (l pionLog) Info(msg string)                  { l.sayf("%s", msg) }
func (l pionLog) Infof(format string, args ...any) { l.sayf(format, args...) }
func (l pionLog) Warn(msg string)                  { l.sayf("%s", msg) }
func (l pionLog) Warnf(format string, args ...any) { l.sayf(format, args...) }
func (l pionLog) Error(msg string)                 { l.sayf("%s", msg) }
func (l pionLog) Errorf(format string, args ...any) {
	l.sayf(format, args...)
}
