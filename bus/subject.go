package bus

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Kind is the last token of a subject: what the messages on it are.
type Kind string

// The kinds of subject.
const (
	KindMask   Kind = "mask"   // segdv1.MaskFrame
	KindEvent  Kind = "event"  // segdv1.Event
	KindStatus Kind = "status" // segdv1.Status
	// KindPicture is of pictures of events, each with a subject of its own below that of its camera.
	KindPicture Kind = "picture"

	// Requests to the micro service.
	KindAnnotate Kind = "annotate"
	KindClear    Kind = "clear"
	KindRename   Kind = "rename"
	KindObjects  Kind = "objects"
	KindSnapshot Kind = "snapshot"
	KindState    Kind = "state"

	// Requests to the segd of a site, of no camera that takes requests.
	KindReload Kind = "reload"
	KindAdd    Kind = "add" // this and those that follow are of the site's cameras
	KindSet    Kind = "set"
	KindRemove Kind = "remove"
	KindList   Kind = "list"

	// Requests to a fleet, which any of its boxes answers.
	KindShow     Kind = "show"
	KindCordon   Kind = "cordon"
	KindDrain    Kind = "drain"
	KindUncordon Kind = "uncordon"
	KindMove     Kind = "move"
)

// kindClaim is of what the segd of a site say to one another; see claims.
const kindClaim Kind = "claim"

// kindForgotten is of what a box of a fleet says when a camera was removed.
const kindForgotten Kind = "forgotten"

func claimSubject(site string) string { return prefix + "." + site + "." + string(kindClaim) }

// siteSubject is that of a request of siteRequests.
func siteSubject(site string, kind Kind) string {
	switch {
	case kind == KindReload:
		return prefix + "." + site + "." + string(kind)
	case slices.Contains(fleetRequests, kind):
		return prefix + "." + site + ".fleet." + string(kind)
	}
	return prefix + "." + site + ".camera." + string(kind)
}

// requests are the kinds of them that are for a camera.
var requests = []Kind{KindAnnotate, KindClear, KindRename, KindObjects, KindSnapshot, KindState}

// siteRequests are the others.
var siteRequests = append([]Kind{KindReload, KindAdd, KindSet, KindRemove, KindList}, fleetRequests...)

// fleetRequests are those of them that are for a fleet.
var fleetRequests = []Kind{KindShow, KindCordon, KindDrain, KindUncordon, KindMove}

// isRequest tells whether messages of that kind are requests to segd.
func (k Kind) isRequest() bool {
	return slices.Contains(siteRequests, k) || slices.Contains(requests, k)
}

// prefix is what every subject of this version of the messages begins with.
const prefix = "segd.v1"

// ErrName is in the chain of the error about a site or camera name that cannot
// be part of a subject.
var ErrName = errors.New("bus: bad name")

// CheckName returns an error that wraps ErrName unless name can be a token of a
// subject: one or more of A-Z, a-z, 0-9, _ and -.
func CheckName(name string) error {
	if name == "" {
		return fmt.Errorf("%w: it is empty, want letters, digits, _ and -", ErrName)
	}
	for _, c := range name {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return fmt.Errorf("%w %q: character %q, want letters (A-Z, a-z), digits, _ and -", ErrName, name, c)
		}
	}
	return nil
}

// Subject returns the subject of one camera's messages of a kind, or an error
// that wraps ErrName.
func Subject(site, camera string, kind Kind) (string, error) {
	if err := CheckName(site); err != nil {
		return "", fmt.Errorf("bus: site: %w", err)
	}
	if err := CheckName(camera); err != nil {
		return "", fmt.Errorf("bus: camera: %w", err)
	}
	return prefix + "." + site + "." + camera + "." + string(kind), nil
}

// Pattern returns the subject to subscribe to for target, which is a camera's
// name, for its masks at whatever site, or a subject. A subject's tokens may be
// the wildcard *, and its last one >.
func Pattern(target string) (string, error) {
	if !strings.ContainsAny(target, ".*>") {
		if err := CheckName(target); err != nil {
			return "", fmt.Errorf("bus: camera: %w", err)
		}
		return prefix + ".*." + target + "." + string(KindMask), nil
	}
	tokens := strings.Split(target, ".")
	for i, t := range tokens {
		if t == "*" || (t == ">" && i == len(tokens)-1) {
			continue
		}
		if err := CheckName(t); err != nil {
			return "", fmt.Errorf("bus: subject %q: token %d: %w, or *, or > at the end", target, i+1, err)
		}
	}
	return target, nil
}

// kindOf returns the last token of a subject.
func kindOf(subject string) Kind {
	return Kind(subject[strings.LastIndexByte(subject, '.')+1:])
}
