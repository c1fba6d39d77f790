package coalesce

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		l := &Log{Message: "bad", Write: func(message string, args ...any) { lines = append(lines, fmt.Sprintf("%s %v", message, args)) }}
		l.Flush()
		for range 100 {
			l.Add(2, errors.New("lost"))
		}
		time.Sleep(every)
		l.Add(1, errors.New("gone"))
		l.Add(3, errors.New("cut"))
		l.Flush()
		l.Flush()
		want := []string{"bad [count 2 error lost]", "bad [count 199 error gone]", "bad [count 3 error cut]"}
		assert.Equal(t, want, lines)
	})
}
