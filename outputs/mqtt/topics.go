package mqtt

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"
)

// Lengths, in bytes, from which on names are cut and told apart by a part of their SHA-256.
const (
	maxLevel = 200
	maxPart  = 64
	maxShown = 64 // characters of a name that people see

	maxEntity = 1000 // of a topic of discovery
)

// sum tells long names apart.
func sum(name string) string {
	s := sha256.Sum256([]byte(name))
	return hex.EncodeToString(s[:8])
}

// level is a name as a level of a topic: percent-encoded (RFC 3986), since +, # and / have a meaning there.
// A longer one than maxLevel ends in ~ and a sum.
func level(name string) string {
	out := strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
	if len(out) <= maxLevel {
		return out
	}
	return strings.ReplaceAll(url.QueryEscape(cut(name, maxLevel/4/utf8.UTFMax)), "+", "%20") + "~" + sum(name)
}

// unlevel is the name that level has made l of, or what a cut one begins with; ok is false if it has made it of none.
func unlevel(l string) (name string, ok bool) {
	if l == "" || len(l) > maxLevel {
		return "", false
	}
	name, err := url.PathUnescape(l)
	return name, err == nil && level(name) == l
}

// part is a name as a part of an identifier, of [A-Za-z0-9_-], which is all that Home Assistant accepts. Parts
// that are joined by _ are other ones if any part is. A longer one than maxPart ends in -h and a sum.
func part(name string) string {
	var out strings.Builder
	for _, b := range []byte(name) {
		switch {
		case b >= '0' && b <= '9', b >= 'a' && b <= 'z', b >= 'A' && b <= 'Z':
			out.WriteByte(b)
		case b == '-', b == '_':
			out.Write([]byte{'-', b})
		default:
			fmt.Fprintf(&out, "-x%02x", b)
		}
	}
	if out.Len() <= maxPart {
		return out.String()
	}
	return out.String()[:maxPart] + "-h" + sum(name)
}

// join is the identifier of parts.
func join(names ...string) string {
	parts := make([]string, len(names))
	for i, n := range names {
		parts[i] = part(n)
	}
	return strings.Join(parts, "_")
}

// cut is at most the first n characters of name.
func cut(name string, n int) string {
	for i := range name {
		if n == 0 {
			return name[:i]
		}
		n--
	}
	return name
}

// shown is a name as people see it in Home Assistant, whose own names have an end.
func shown(name string) string {
	if short := cut(name, maxShown); short != name {
		return short + "…"
	}
	return name
}

// root is what the topics of a site begin with.
func (c *Config) root() string { return c.Prefix + "/" + level(c.Site) }

// status is the topic that tells whether this segd is there.
func (c *Config) status() string {
	if c.Box == "" {
		return c.root() + "/status"
	}
	return c.root() + "/boxes/" + level(c.Box) + "/status"
}

// The topics below a camera's.
const (
	topicState    = "/state"
	topicObjects  = "/objects"
	topicClass    = "/class/"
	topicZone     = "/zone/"
	topicSnapshot = "/snapshot"
	topicEvent    = "/event"
	topicAnswer   = "/answer"
)

// camera is what a camera's topics begin with.
func (c *Config) camera(name string) string { return c.root() + "/camera/" + level(name) }

// node is a camera's in the topics of Home Assistant's discovery.
func (c *Config) node(camera string) string { return join(c.Prefix, c.Site, camera) }

// states matches a topic that every camera has.
func (c *Config) states() string { return c.root() + "/camera/+" + topicState }

// entitiesOf matches the topics of discovery of a camera's node.
func (c *Config) entitiesOf(node string) string { return c.Discovery + "/+/" + node + "/+/config" }

// filters match all that is retained of a camera, entities before what they read.
func (c *Config) filters(camera string) (all []string) {
	if c.Discovery != "" {
		all = append(all, c.entitiesOf(c.node(camera)))
	}
	at := c.camera(camera)
	return append(all, at+"/+", at+topicClass+"+", at+topicZone+"+")
}

// held says whose a topic is that a segd may have had a broker retain, by name or by node, and which of filters matches
// it. All are empty of any other topic.
func (c *Config) held(topic string) (camera, node, filter string) {
	if name, below, ok := c.own(topic); ok {
		at := c.camera(name)
		switch below {
		case topicState, topicObjects, topicSnapshot:
			return name, "", at + "/+"
		}
		for _, kind := range []string{topicClass, topicZone} {
			if rest, ok := strings.CutPrefix(below, kind); ok {
				if _, ok := unlevel(rest); ok {
					return name, "", at + kind + "+"
				}
			}
		}
		return "", "", ""
	}
	if node, ok := c.nodeOf(topic); ok && len(topic) < maxEntity {
		return "", node, c.entitiesOf(node)
	}
	return "", "", ""
}

// own splits a topic of a camera; ok is false for any other.
func (c *Config) own(topic string) (camera, below string, ok bool) {
	rest, ok := strings.CutPrefix(topic, c.root()+"/camera/")
	if !ok {
		return "", "", false
	}
	name, below, ok := strings.Cut(rest, "/")
	camera, is := unlevel(name)
	return camera, "/" + below, ok && is
}

// nodeOf is the node in a topic of discovery; ok is false for any other.
func (c *Config) nodeOf(topic string) (node string, ok bool) {
	rest, ok := strings.CutPrefix(topic, c.Discovery+"/")
	levels := strings.Split(rest, "/")
	if !ok || c.Discovery == "" || len(levels) != 4 {
		return "", false
	}
	return levels[1], true
}
