package tracker

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// ErrAnnotation is wrapped by every fault found in an annotation.
var ErrAnnotation = errors.New("annotation")

// ErrFrame is wrapped too when the fault is that the frame it names is not kept.
var ErrFrame = errors.New("frame not kept")

// Fault is what is wrong with one field of an annotation. It wraps ErrAnnotation.
type Fault struct {
	// Field is where, such as objects[0].box; empty for the annotation as a whole.
	Field string
	// Detail is what was found and what would be accepted.
	Detail string

	frame bool
}

func (f *Fault) Error() string {
	if f.Field == "" {
		return ErrAnnotation.Error() + ": " + f.Detail
	}
	return ErrAnnotation.Error() + ": " + f.Field + ": " + f.Detail
}

// Unwrap returns the kinds of fault it is.
func (f *Fault) Unwrap() []error {
	if f.frame {
		return []error{ErrAnnotation, ErrFrame}
	}
	return []error{ErrAnnotation}
}

func fault(field, format string, args ...any) error {
	return &Fault{Field: field, Detail: fmt.Sprintf(format, args...)}
}

func frameFault(format string, args ...any) error {
	return &Fault{Field: "frame", Detail: fmt.Sprintf(format, args...), frame: true}
}

// maxLabel is the longest label in characters: it is in every message and in the
// metrics' series.
const maxLabel = 100

// checkLabel names what is wrong with a label, which may be empty.
func checkLabel(field, label string) error {
	if n := utf8.RuneCountInString(label); n > maxLabel {
		return fault(field, "%d characters; want at most %d", n, maxLabel)
	}
	if !utf8.ValidString(label) {
		return fault(field, "%q is not UTF-8", label)
	}
	for _, c := range label {
		if !unicode.IsPrint(c) {
			return fault(field, "%q has the unprintable character %q; want letters, digits, signs and spaces", label, c)
		}
	}
	return nil
}
