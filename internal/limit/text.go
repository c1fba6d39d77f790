package limit

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The most bytes of texts that come from outside, by what they are: those of the configuration and of requests
// over HTTP and NATS. What comes in HTTP's headers and in the path of a URL is bounded together, by
// MaxHeader.
const (
	MaxName   = 64      // is part of NATS' subjects, of metrics and of file names
	MaxURL    = 2 << 10 // browsers and proxies take no longer ones
	MaxPath   = 4 << 10 // Linux takes no longer ones (PATH_MAX)
	MaxSecret = 1 << 10 // a token, which may be a JWT, or a password
	MaxText   = 256     // any other: a host is 253 at most, and most are words
	MaxHeader = 16 << 10
)

// MaxLogged and MaxStack are the most bytes of a value in a line of the log, and of the trace of a panic there.
const (
	MaxLogged = 2 << 10
	MaxStack  = 64 << 10
)

// texts are the fields that MaxText is not for, by what they are called last.
var texts = map[string]int{
	"name": MaxName, "site": MaxName, "box": MaxName, "camera": MaxName, "zones": MaxName,
	"url": MaxURL, "page": MaxURL,
	"token": MaxSecret, "viewer_token": MaxSecret, "password": MaxSecret, "credential": MaxSecret, "secret": MaxSecret,
	"annotation": MaxPath, "path": MaxPath, "names": MaxPath, "prototxt": MaxPath, "engine_library": MaxPath, "engine_cache": MaxPath,
	"cert": MaxPath, "key": MaxPath, "ca": MaxPath, "credentials": MaxPath, "nkey": MaxPath, "store_dir": MaxPath, "cameras_key": MaxPath,
}

// TextOf is the most bytes of the text of a field, such as cameras[0].url or /zones/0/name.
func TextOf(field string) int {
	parts := strings.FieldsFunc(field, func(r rune) bool { return strings.ContainsRune("./[]", r) })
	for _, part := range slices.Backward(parts) {
		if _, err := strconv.Atoi(part); err != nil { // else the number of one in a list
			if most, ok := texts[part]; ok {
				return most
			}
			break
		}
	}
	return MaxText
}

// TooLong says why the text of a field is too long; "": it is not.
func TooLong(field, text string) string {
	if most := TextOf(field); len(text) > most {
		return fmt.Sprintf("%d bytes; accepted: at most %d", len(text), most)
	}
	return ""
}

// LongText finds a text, or a name of a member, in decoded JSON that is too long: by its JSON pointer, and why. It
// is none if why is empty.
func LongText(pointer string, value any) (at, why string) {
	switch v := value.(type) {
	case string:
		return pointer, TooLong(pointer, v)
	case []any:
		for i, one := range v {
			if at, why = LongText(pointer+"/"+strconv.Itoa(i), one); why != "" {
				return at, why
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if len(name) > MaxName {
				return cmp.Or(pointer, "/"), fmt.Sprintf("a member whose name has %d bytes; accepted: at most %d", len(name), MaxName)
			}
			if at, why = LongText(pointer+"/"+name, v[name]); why != "" {
				return at, why
			}
		}
	}
	return pointer, ""
}

// LongJSON is LongText of JSON as it is sent; what is none is for others to find.
func LongJSON(data []byte) (at, why string) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) != nil {
		return "", ""
	}
	return LongText("", value)
}

// Cut is text, or as much of it as most bytes hold and how much there was.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes)", text[:end], len(text))
}
