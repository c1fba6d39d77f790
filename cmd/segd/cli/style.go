package cli

import (
	"io"
	"os"
)

// Style colours words for people. It does nothing unless they look at a terminal
// and want it (https://no-color.org).
type Style bool

// StyleOf is for what is written to w.
func StyleOf(w io.Writer) Style { return styleFor(IsTerminal(w), os.Getenv) }

func styleFor(terminal bool, environ func(string) string) Style {
	return Style(terminal && environ("NO_COLOR") == "" && environ("TERM") != "dumb")
}

// Good is for what went well.
func (s Style) Good(text string) string { return s.paint("32", text) }

// Odd is for what could be better.
func (s Style) Odd(text string) string { return s.paint("33", text) }

// Bad is for what failed.
func (s Style) Bad(text string) string { return s.paint("1;31", text) }

// Head is for what a line is about.
func (s Style) Head(text string) string { return s.paint("1", text) }

// paint takes an SGR code of ECMA-48.
func (s Style) paint(code, text string) string {
	if !s || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
