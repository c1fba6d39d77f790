// Package plain makes of errors what people read. Errors begin with the package that they are of, for who reads logs
// and code; a user who set a camera up wrongly has no use for that.
package plain

import (
	"regexp"
	"strings"
)

// prefixes are those of packages whose errors reach people, and which are the name of no setting.
var prefixes = regexp.MustCompile(`(^|\n|: |; )(?:(?:bus|codec|config|dnn|ingest|onvif|pipeline): )+`)

// Text is text without the names of packages.
func Text(text string) string { return prefixes.ReplaceAllString(text, "$1") }

// Error is what err says, without them.
func Error(err error) string { return Text(err.Error()) }

// OneLine is what err says, its lines after one another.
func OneLine(err error) string { return strings.ReplaceAll(Error(err), "\n", "; ") }

// All returns the errors of type T in err's tree.
func All[T error](err error) []T {
	if f, ok := err.(T); ok { //nolint:errorlint // this walks the tree itself
		return []T{f}
	}
	var found []T
	switch e := err.(type) { //nolint:errorlint // likewise
	case interface{ Unwrap() error }:
		found = All[T](e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			found = append(found, All[T](part)...)
		}
	}
	return found
}
