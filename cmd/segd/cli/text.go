package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// IsTerminal tells whether a person sees what is written to stream, or types what is
// read from it.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Printable is text of others, with what a terminal would act on, or not show, escaped
// as Go does: control characters, line ends, marks that turn the writing round.
func Printable(text string) string {
	shown := func(r rune, size int) bool { return strconv.IsGraphic(r) && (r != utf8.RuneError || size > 1) }
	var b strings.Builder
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		first := text[:size]
		text = text[size:]
		if shown(r, size) {
			b.WriteString(first)
			continue
		}
		quoted := strconv.Quote(first)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

// MS is a duration in milliseconds as people read it.
func MS(d time.Duration) string {
	v := float64(d) / float64(time.Millisecond)
	switch {
	case d == 0:
		return "–"
	case math.Abs(v) < 10:
		return fmt.Sprintf("%.1f ms", v)
	}
	return fmt.Sprintf("%.0f ms", v)
}

// ObjectName is its label and its number: several may have one label.
func ObjectName(id uint32, label string) string {
	label = cmp.Or(label, "object")
	number := strconv.FormatUint(uint64(id), 10)
	if rest, ok := strings.CutSuffix(label, number); ok && !strings.ContainsAny(rest[max(0, len(rest)-1):], "0123456789") {
		return label
	}
	return label + " " + number
}

// WriteJSON writes v for people and programs.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
