package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/segd/segd/internal/redact"
)

// Default is the Address.From of a setting that neither the file nor the environment has.
const Default = "default"

// Address is one that segd listens on or goes to.
type Address struct {
	Setting string // such as http.addr
	Value   string // without secrets
	From    string // the variable of the environment, the file, or Default
}

// Addresses are those of the settings outside of lists, as file and environ, which made c, have set them.
func (c *Config) Addresses(file string, environ []string) (all []Address) {
	var defaults Config
	defaults.setDefaults()
	var walk func(path string, v, d reflect.Value)
	walk = func(path string, v, d reflect.Value) {
		for i, key := range keys(v.Type()) {
			at, v, d := join(path, key), v.Field(i), d.Field(i)
			switch {
			case v.Kind() == reflect.Struct:
				walk(at, v, d)
			case !slices.Contains([]string{"addr", "url", "address", "page", "alertmanager"}, key) || v.Kind() != reflect.String || v.String() == "":
			default:
				name, from := variableName(at), file
				if slices.ContainsFunc(environ, func(pair string) bool { return strings.HasPrefix(pair, name+"=") }) {
					from = name
				} else if v.String() == d.String() {
					from = Default
				}
				value := v.String()
				if key != "addr" { // which holds no secrets
					value = redact.URL(value)
				}
				all = append(all, Address{at, value, from})
			}
		}
	}
	walk("", reflect.ValueOf(*c), reflect.ValueOf(defaults))
	if c.NATS.URL != "" { // then segd is no server
		all = slices.DeleteFunc(all, func(a Address) bool { return a.Setting == "nats.addr" })
	}
	return all
}
