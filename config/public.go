package config

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strings"
)

// hidden stands where a secret was.
const hidden = "xxxxx"

// Public returns c as JSON with the names of the YAML file, for people to read.
// Fields tagged secret, and users, passwords and query values of URLs, are hidden.
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
				members[name] = hidden
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
		return withoutSecrets(v.String())
	default:
		return v.Interface()
	}
}

// withoutSecrets hides what gives access in a URL, or in several with commas.
func withoutSecrets(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	parts := strings.Split(text, ",")
	for i, part := range parts {
		u, err := url.Parse(strings.TrimSpace(part))
		if err != nil {
			parts[i] = hidden
			continue
		}
		if u.User != nil {
			u.User = url.User(hidden)
		}
		query := u.Query()
		for name := range query {
			query.Set(name, hidden)
		}
		u.RawQuery = query.Encode()
		parts[i] = u.String()
	}
	return strings.Join(parts, ",")
}
