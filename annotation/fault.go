package annotation

import (
	"errors"
	"fmt"
	"unicode"
	"unicode/utf8"
)

// ErrInvalid is wrapped by every fault found in an annotation.
var ErrInvalid = errors.New("annotation")

// ErrFrame is wrapped too when the fault is that the frame an annotation names is
// not kept.
var ErrFrame = errors.New("frame not kept")

// Fault is what is wrong with one field of an annotation. It wraps ErrInvalid.
type Fault struct {
	// Field is where, such as objects[0].box; empty for the annotation as a whole.
	Field string
	// Detail is what was found and what would be accepted.
	Detail string

	frame bool
}

func (f *Fault) Error() string {
	if f.Field == "" {
		return ErrInvalid.Error() + ": " + f.Detail
	}
	return ErrInvalid.Error() + ": " + f.Field + ": " + f.Detail
}

// Unwrap returns the kinds of fault it is.
func (f *Fault) Unwrap() []error {
	if f.frame {
		return []error{ErrInvalid, ErrFrame}
	}
	return []error{ErrInvalid}
}

// Faultf makes a fault of a field, such as objects[0].box, empty for the annotation
// as a whole. The format gives what was found and what would be accepted.
func Faultf(field, format string, args ...any) error {
	return &Fault{Field: field, Detail: fmt.Sprintf(format, args...)}
}

// FrameFaultf makes a fault of the field frame that wraps ErrFrame too.
func FrameFaultf(format string, args ...any) error {
	return &Fault{Field: "frame", Detail: fmt.Sprintf(format, args...), frame: true}
}

// MaxLabel is the longest label in characters: it is in every message and in the
// metrics' series.
const MaxLabel = 100

// CheckLabel names what is wrong with a label, as a fault of the field. It may be
// empty, has at most MaxLabel characters and only printable ones.
func CheckLabel(field, label string) error {
	if n := utf8.RuneCountInString(label); n > MaxLabel {
		return Faultf(field, "%d characters; want at most %d", n, MaxLabel)
	}
	if !utf8.ValidString(label) {
		return Faultf(field, "%q is not UTF-8", label)
	}
	for _, c := range label {
		if !unicode.IsPrint(c) {
			return Faultf(field, "%q has the unprintable character %q; want letters, digits, signs and spaces", label, c)
		}
	}
	return nil
}
