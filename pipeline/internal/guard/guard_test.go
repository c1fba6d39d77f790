package guard

import (
	"errors"
	"strings"
	"testing"

	"github.com/segd/segd/features"
)

func TestCall(t *testing.T) {
	fault := errors.New("a fault")
	if err := Call(func() error { return fault }); err != fault { //nolint:errorlint // as it is
		t.Errorf("%v; want the error itself", err)
	}
	for text, value := range map[string]any{
		"panic: a wild index": "a wild index",
		"panic: elsewhere":    &features.Panic{Value: "elsewhere", Stack: []byte("TestCall of another goroutine")},
	} {
		err := Call(func() error { panic(value) })
		var p *Panic
		if !errors.As(err, &p) || err.Error() != text || !strings.Contains(string(p.Stack), "TestCall") {
			t.Errorf("%v; want %s, with where that was", err, text)
		}
	}
}
