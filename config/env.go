package config

import (
	"reflect"
	"strconv"
	"strings"
)

// prefix of the environment variables that override settings.
const prefix = "SEGD_"

// environment overrides the scalars of c that environ names. Variables that
// name no setting are left alone: container platforms make up some of their own
// (SEGD_PORT and the like for a service called segd).
func (d *decoder) environment(c *Config, environ []string) {
	values := make(map[string]string)
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok && strings.HasPrefix(name, prefix) {
			values[name] = value
		}
	}
	d.override("", reflect.ValueOf(c).Elem(), values)
}

func (d *decoder) override(path string, dst reflect.Value, values map[string]string) {
	for i, key := range keys(dst.Type()) {
		field, fieldPath := dst.Field(i), join(path, key)
		if field.Kind() == reflect.Struct {
			d.override(fieldPath, field, values)
			continue
		}
		name := variableName(fieldPath)
		text, ok := values[name]
		if !ok || field.Kind() == reflect.Slice {
			continue
		}
		at := place{file: name}
		d.source[fieldPath] = at
		if field.Kind() == reflect.String {
			d.text(at, fieldPath, text, field)
		} else if !set(field, text) {
			d.fault(at, fieldPath, "found %q; accepted: %s", clip(text), kindName(field.Kind()))
		}
	}
}

// variableName is the environment variable that overrides the setting at path.
func variableName(path string) string {
	return prefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

func set(field reflect.Value, text string) bool {
	switch field.Kind() {
	case reflect.Int:
		v, err := strconv.Atoi(text)
		if err != nil {
			return false
		}
		field.SetInt(int64(v))
	case reflect.Bool:
		v, err := strconv.ParseBool(text)
		if err != nil {
			return false
		}
		field.SetBool(v)
	default:
		return false
	}
	return true
}
