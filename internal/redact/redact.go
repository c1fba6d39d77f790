// Package redact takes secrets out of what people read.
//
// In goes a URL, or a text or error that may quote some; out comes the same with
// [Hidden] where a secret was or may have been. It knows the places where cameras
// and servers want their passwords: before an @, in the values of a query, and in
// name=value pairs and name:value pairs of a path, percent-encoded or not. What it
// shows is what is known to be harmless, not what is not known to be secret: scheme,
// host, the path up to the first such pair, and few parameters such as channel=1.
// Redacting twice is redacting once.
package redact

import (
	"regexp"
	"strings"
)

// Hidden stands where a secret was.
const Hidden = "xxxxx"

// placeholder is what advice has in the place of a user and a password.
const placeholder = "USER:PASSWORD@"

// Percent signs may have been encoded themselves, more than once.
var (
	scheme    = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://`)
	another   = regexp.MustCompile(`,\s*[A-Za-z][A-Za-z0-9+.-]*://`)
	at        = regexp.MustCompile(`@|%(?:25)*40`)
	colon     = regexp.MustCompile(`:|%(?:25)*3[Aa]`)
	equals    = regexp.MustCompile(`=|%(?:25)*3[Dd]`)
	separator = regexp.MustCompile(`[&;?#]|%(?:25)*(?:26|3[BbFf]|23)`)
	listed    = regexp.MustCompile(separator.String() + `|` + equals.String()) // parameters begin
	word      = regexp.MustCompile(`^[A-Za-z_.-]{1,24}$`)
	plain     = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,16}$`)
	// local are schemes of files, which hold no secrets.
	local = regexp.MustCompile(`(?i)^(file|dir)://$`)
	// harmless are parameters of cameras that say which picture, and not who asks.
	harmless = regexp.MustCompile(`(?i)^(camera|cam|ch|chid|channel|codec|compression|format|fps|framerate|height|mode|profile|` +
		`proto|quality|resolution|size|stream|streamtype|subtype|transport|transportmode|unicast|videocodec|width)$`)
)

// URL returns s, which is a URL or several with commas between them, without
// secrets. It need not be a valid one.
func URL(s string) string {
	m := scheme.FindStringIndex(s)
	if m == nil || m[0] > 0 {
		return address(s)
	}
	rest, more := s[m[1]:], ""
	if n := another.FindStringIndex(rest); n != nil {
		next := n[0] + strings.IndexFunc(rest[n[0]:], func(r rune) bool { return r >= 'A' })
		rest, more = rest[:n[0]], rest[n[0]:next]+URL(rest[next:])
	}
	if local.MatchString(s[:m[1]]) {
		return s[:m[1]] + Text(rest) + more
	}
	return s[:m[1]] + address(rest) + more
}

// Text returns s with the URLs in it redacted. One in quotes goes on to the closing
// quote, any other to the next space.
func Text(s string) string {
	var out strings.Builder
	for {
		m := scheme.FindStringIndex(s)
		if m == nil {
			out.WriteString(s)
			return out.String()
		}
		n := end(s, m[0], m[1])
		out.WriteString(s[:m[0]])
		out.WriteString(URL(s[m[0]:n]))
		s = s[n:]
	}
}

// end returns where the URL that begins at from, and whose scheme ends at after, does.
func end(s string, from, after int) int {
	if from > 0 && strings.IndexByte("\"'`", s[from-1]) >= 0 {
		for n := after; n < len(s); n++ {
			switch s[n] {
			case s[from-1]:
				return n
			case '\\':
				n++
			}
		}
	}
	n := len(s)
	if i := strings.IndexAny(s[after:], " \t\r\n\"`<>"); i >= 0 {
		n = after + i
	}
	return after + len(strings.TrimRight(s[after:n], ".,:;)'")) // of the sentence
}

// address redacts what follows a scheme.
func address(s string) string {
	user := ""
	authority, list := strings.IndexAny(s, "/?#"), len(s)
	if authority < 0 {
		authority = len(s)
	}
	if m := listed.FindStringIndex(s[authority:]); m != nil {
		list = authority + m[0]
	}
	ats := at.FindAllStringIndex(s[:list], -1)
	switch {
	case strings.LastIndexByte(s, '@') > list: // of a password before the host, or after it
		return Hidden
	case len(ats) == 1 && strings.HasPrefix(s, placeholder):
		user, s = placeholder, s[len(placeholder):]
	case len(ats) > 0: // a password may hold an @, a / and much else
		last := ats[len(ats)-1]
		user, s = Hidden+s[last[0]:last[1]], s[last[1]:]
	}
	path := len(s)
	list = len(s)
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		path = i
	}
	if m := listed.FindStringIndex(s); m != nil {
		list = m[0]
		if equals.MatchString(s[m[0]:m[1]]) { // its name comes before
			list = strings.LastIndexByte(s[:m[0]], '/') + 1
		}
	}
	path = min(path, list)
	return user + s[:path] + segments(s[path:list]) + parameters(s[list:])
}

// segments redacts a path without parameters.
func segments(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if colon.MatchString(p) {
			parts[i] = Hidden
		}
	}
	return strings.Join(parts, "/")
}

// parameters redacts a list of name=value.
func parameters(list string) string {
	var out strings.Builder
	for list != "" {
		m := separator.FindStringIndex(list)
		if m == nil {
			m = []int{len(list), len(list)}
		}
		out.WriteString(parameter(list[:m[0]]))
		out.WriteString(list[m[0]:m[1]])
		list = list[m[1]:]
	}
	return out.String()
}

func parameter(p string) string {
	m := equals.FindStringIndex(p)
	switch {
	case p == "":
		return ""
	case m == nil || m[1] == len(p) || !word.MatchString(p[:m[0]]): // the name may be a secret
		return Hidden
	case harmless.MatchString(p[:m[0]]) && plain.MatchString(p[m[1]:]):
		return p
	}
	return p[:m[1]] + Hidden
}

// Error returns err with the URLs in its text redacted. It wraps err, or is err if
// there is nothing to hide.
func Error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if shown := Text(text); shown != text {
		return &redacted{shown, err}
	}
	return err
}

type redacted struct {
	text string
	err  error
}

func (e *redacted) Error() string { return e.text }
func (e *redacted) Unwrap() error { return e.err }
