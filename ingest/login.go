package ingest

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/icholy/digest"
)

// login tells a camera who asks, on one connection: once the camera wants to know, in the
// strongest of the ways that it offers, by RFC 7616 (Digest) or else RFC 7617 (Basic). A
// password that the camera refuses is not told again; one that it has accepted is, where the
// camera wants another nonce.
type login struct {
	user *url.Userinfo // nil: none

	asked     bool
	challenge *digest.Challenge // nil of Basic
	cnonce    string
	count     int  // requests that answered challenge
	told      bool // the newest request said who asks
	accepted  bool // one that did was answered with success
	renewed   int  // nonces in a row with none accepted
	stale     bool // the newest refusal was for the nonce, as the camera says
}

// maxRenewed is how many nonces a camera may call out of date one after the other: one is
// usual, and a camera that calls each so may mean the password, which accounts are locked
// for after five.
const maxRenewed = 2

// errOtherLogin: what the camera offers is neither Basic nor a Digest that is known.
var errOtherLogin = errors.New("the camera asks for another authentication than Basic and Digest")

// again takes a camera's answer, and tells whether the request should be made once more,
// with what authorization then returns. challenges are the values of WWW-Authenticate.
func (l *login) again(code int, challenges []string) bool {
	if code != http.StatusUnauthorized {
		if l.told && (code/100 == 2 || code == http.StatusNotModified) {
			l.accepted, l.renewed = true, 0
		}
		return false
	}
	c, offered := strongest(challenges)
	if l.user == nil || !offered {
		return false
	}
	if l.told {
		newer := c != nil && l.challenge != nil && c.Nonce != l.challenge.Nonce
		l.stale = newer && c.Stale
		if !newer || !l.accepted && !l.stale || l.renewed == maxRenewed {
			return false
		}
		l.renewed++
	}
	l.asked, l.challenge, l.count, l.cnonce = true, c, 0, ""
	if c != nil && len(c.QOP) > 0 { // else the camera is not told it
		l.cnonce = rand.Text()
	}
	return true
}

// refusal is what a camera means by refusing a user; nil: the password is wrong, as far as
// can be known.
func (l *login) refusal(code int) error {
	switch {
	case !l.told || code != http.StatusUnauthorized && code != http.StatusForbidden:
		return nil
	case l.accepted && l.renewed == maxRenewed:
		return fmt.Errorf("the camera wants one new nonce after the other, although it has accepted the user name and password (%d)", code)
	case l.accepted:
		return fmt.Errorf("%w: the camera accepts the user name and password, and refuses this user the stream (%d)", ErrUnauthorized, code)
	case l.stale:
		return fmt.Errorf("%w: the camera calls each nonce of its own out of date (%d); this says nothing about the password", ErrUnauthorized, code)
	}
	return nil
}

// authorization is the header Authorization of a request that is about to be sent; "" before
// the camera has asked for one.
func (l *login) authorization(method, uri string) string {
	l.told = l.asked
	if !l.asked {
		return ""
	}
	name := l.user.Username()
	password, _ := l.user.Password()
	if l.challenge == nil {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte(name+":"+password))
	}
	l.count++
	c := *l.challenge
	o := digest.Options{Method: method, URI: uri, Count: l.count, Username: name, Password: password, Cnonce: l.cnonce}
	if h, session := hashOf(&c); session { // the library knows no sessions
		c.Algorithm = c.Algorithm[:len(c.Algorithm)-len(ofSession)]
		o.A1 = hexOf(h, hexOf(h, name, c.Realm, password), c.Nonce, l.cnonce)
	}
	made, err := digest.Digest(&c, o)
	if err != nil { // strongest has looked
		return ""
	}
	made.Algorithm = l.challenge.Algorithm
	return made.String()
}

// hashes are Digest's algorithms, the weakest first.
var hashes = []algorithm{{"MD5", md5.New}, {"SHA-256", sha256.New}, {"SHA-512-256", sha512.New512_256}, {"SHA-512", sha512.New}}

type algorithm struct {
	name string
	make func() hash.Hash
}

// ofSession ends the name of an algorithm whose key is made once a nonce.
const ofSession = "-sess"

// strength is the place of c's algorithm in hashes; -1: it is not there.
func strength(c *digest.Challenge) int {
	name := strings.TrimSuffix(strings.ToLower(c.Algorithm), ofSession)
	if name == "" {
		name = "md5"
	}
	return slices.IndexFunc(hashes, func(a algorithm) bool { return strings.EqualFold(a.name, name) })
}

func hashOf(c *digest.Challenge) (h hash.Hash, session bool) {
	return hashes[strength(c)].make(), strings.HasSuffix(strings.ToLower(c.Algorithm), ofSession)
}

func hexOf(h hash.Hash, parts ...string) string {
	h.Reset()
	_, _ = h.Write([]byte(strings.Join(parts, ":")))
	return fmt.Sprintf("%x", h.Sum(nil))
}

// challengePart is a parameter of a challenge, name=value, or the name of a scheme.
var challengePart = regexp.MustCompile(`([^\s,="]+)(?:\s*(=)\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*)))?`)

// strongest returns the challenge of Digest that is answered, nil for Basic; offered tells
// whether there is either. A line may hold several.
func strongest(lines []string) (found *digest.Challenge, offered bool) {
	for _, line := range lines {
		var c *digest.Challenge
		end := func() {
			if c == nil || c.Nonce == "" || strength(c) < 0 || len(c.QOP) > 0 && !c.SupportsQOP("auth") && !c.SupportsQOP("auth-int") {
				return
			}
			if offered = true; found == nil || strength(c) > strength(found) {
				found = c
			}
		}
		for _, part := range challengePart.FindAllStringSubmatch(line, -1) {
			name := strings.ToLower(part[1])
			switch {
			case part[2] == "=" && c != nil:
				parameter(c, name, unescape.ReplaceAllString(part[3], "$1")+part[4])
			case part[2] == "=":
			default: // a scheme
				end()
				c = nil
				offered = offered || name == "basic"
				if name == "digest" {
					c = new(digest.Challenge)
				}
			}
		}
		end()
	}
	return found, offered
}

// unescape takes the backslashes out of a quoted string.
var unescape = regexp.MustCompile(`\\(.)`)

func parameter(c *digest.Challenge, name, value string) {
	switch name {
	case "realm":
		c.Realm = value
	case "nonce":
		c.Nonce = value
	case "opaque":
		c.Opaque = value
	case "algorithm":
		c.Algorithm = value
	case "stale":
		c.Stale = strings.EqualFold(value, "true")
	case "userhash":
		c.Userhash = strings.EqualFold(value, "true")
	case "qop":
		c.QOP = strings.FieldsFunc(strings.ToLower(value), func(r rune) bool { return r == ',' || r == ' ' })
	}
}
