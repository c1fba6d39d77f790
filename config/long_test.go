package config_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/config"
	"github.com/segd/segd/internal/limit"
)

// leaves calls each with every text of a configuration: where it is, and a configuration with nothing else, in
// which make builds what is there.
func leaves(t reflect.Type, path string, wrap func(any) any, each func(path string, whole func(string) any)) {
	switch t.Kind() {
	case reflect.String:
		each(path, func(text string) any { return wrap(text) })
	case reflect.Slice:
		leaves(t.Elem(), path+"[0]", func(v any) any { return wrap([]any{v}) }, each)
	case reflect.Struct:
		for i := range t.NumField() {
			key := t.Field(i).Tag.Get("yaml")
			at := key
			if path != "" {
				at = path + "." + key
			}
			leaves(t.Field(i).Type, at, func(v any) any { return wrap(map[string]any{key: v}) }, each)
		}
	}
}

// No text of a configuration is of any length, whether the file has it, the environment or a request, and none that
// is too long is said again.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("Z", 200_000)
	held := func(path, by string, err error) {
		t.Helper()
		var faults config.Faults
		want := fmt.Sprintf("200000 bytes; accepted: at most %d", limit.TextOf(path))
		if !errors.As(err, &faults) {
			t.Errorf("%s, by %s: %.200v", path, by, err)
			return
		}
		found := false
		for _, f := range faults {
			found = found || f.Path == path && f.Message == want
		}
		if text := err.Error(); !found || len(text) > 4<<10 {
			t.Errorf("%s, by %s: %d bytes: %.200s", path, by, len(text), text)
		}
	}
	n := 0
	leaves(reflect.TypeFor[config.Config](), "", func(v any) any { return v }, func(path string, whole func(string) any) {
		n++
		text, err := json.Marshal(whole(long)) // JSON is YAML
		require.NoError(t, err)
		_, err = config.Parse("segd.yaml", text, nil)
		held(path, "the file", err)
		if !strings.Contains(path, "[") {
			name := "SEGD_" + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
			_, err = config.Parse("segd.yaml", []byte("cameras: []"), []string{name + "=" + long})
			held(path, "the environment", err)
		}
	})
	leaves(reflect.TypeFor[config.Camera](), "", func(v any) any { return v }, func(path string, whole func(string) any) {
		text, err := json.Marshal(whole(long))
		require.NoError(t, err)
		_, err = config.ParseCamera(t.Context(), text, "", &config.Config{})
		held(path, "a request", err)
	})
	if n < 50 {
		t.Errorf("%d texts", n)
	}
	for _, text := range []string{long + ": 1", "{" + long, "site: !" + long + " x", "cameras: [{name: " + long + "!}]", "site: *" + long} {
		if _, err := config.Parse("segd.yaml", []byte(text), nil); err == nil || len(err.Error()) > 4<<10 {
			t.Errorf("%.20q: %d bytes: %.200v", text, len(fmt.Sprint(err)), err)
		}
	}
}
