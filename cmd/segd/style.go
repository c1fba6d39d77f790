package main

import (
	"io"
	"os"
)

// style colours words for people. It does nothing unless they look at a terminal
// and want it (https://no-color.org).
type style bool

func styleOf(w io.Writer) style { return styleFor(isTerminal(w), os.Getenv) }

func styleFor(terminal bool, environ func(string) string) style {
	return style(terminal && environ("NO_COLOR") == "" && environ("TERM") != "dumb")
}

// SGR codes of ECMA-48.
func (s style) good(text string) string { return s.paint("32", text) }
func (s style) odd(text string) string  { return s.paint("33", text) }
func (s style) bad(text string) string  { return s.paint("1;31", text) }
func (s style) head(text string) string { return s.paint("1", text) }

func (s style) paint(code, text string) string {
	if !s || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
