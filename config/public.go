package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/segd/segd/internal/redact"
)

// Public returns c as JSON with the names of the YAML file, for people to read.
// Fields tagged secret are hidden, and what may be a secret in URLs.
func (c *Config) Public() json.RawMessage {
	text, err := json.Marshal(public(reflect.ValueOf(*c)))
	if err != nil {
		panic(fmt.Sprintf("config: %v", err)) // only a field of a new kind can bring this about
	}
	return text
}

func public(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Struct:
		members := map[string]any{}
		for i := range v.NumField() {
			field := v.Type().Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
			members[name] = public(v.Field(i))
			if _, secret := field.Tag.Lookup("secret"); secret && !v.Field(i).IsZero() {
				members[name] = redact.Hidden
			}
		}
		return members
	case reflect.Slice:
		items := make([]any, v.Len()) // never null
		for i := range items {
			items[i] = public(v.Index(i))
		}
		return items
	case reflect.String:
		return shown(v.String())
	default:
		return v.Interface()
	}
}

// shown returns text without the secrets of a URL, or of several with commas.
func shown(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	return redact.URL(text)
}

// ShownURL is the camera's URL without its secrets.
func (c Camera) ShownURL() string { return redact.URL(c.URL) }
