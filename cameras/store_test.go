package cameras

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/api"
)

// What cannot be read of what is kept is listed with the reason, and the others go on. Nothing is deleted: with its
// key a camera is back. One that is in the configuration too is that one.
func TestKeptCamerasThatCannotBeRead(t *testing.T) {
	kept, key := &memory{}, keyFile(t)
	r := begin(t, &testHost{}, false, none, kept, key)
	marks := t.TempDir() + "/marks.json"
	if err := os.WriteFile(marks, []byte(`{"frame": 0, "width": 96, "height": 64, "objects": [{"id": 1, "label": "square", "box": [1, 1, 20, 20]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"good", "damaged", "future", "swapped", "both"} {
		r.add(`{"name": "` + name + `", "url": "whip:"}`)
	}
	r.add(`{"name": "gone", "url": "whip:", "annotation": "` + marks + `"}`)
	r.stop()

	var value stored
	require.NoError(t, json.Unmarshal(kept.values["good"], &value))
	damaged, future := value, value
	damaged.Sealed = bytes.Clone(value.Sealed)
	damaged.Sealed[40] ^= 1
	future.Version = storedVersion + 1
	for name, v := range map[string]stored{"damaged": damaged, "future": future, "swapped": value} {
		kept.values[name], _ = json.Marshal(v)
	}
	kept.values["nonsense"] = []byte("{")
	require.NoError(t, os.Remove(marks))
	const both = "cameras: [{name: both, url: 'rtsp://127.0.0.1:1/'}]\n"
	r = begin(t, &testHost{}, false, both, kept, key)
	r.runs("both", "good")
	for name, want := range map[string]string{
		"damaged": "another key, or damaged", "future": "version 2", "swapped": `is camera "good"'s`, "nonsense": "is damaged", "gone": "marks.json",
	} {
		if d := r.declared(name); !strings.Contains(d.Fault, want) || d.Source != "added" {
			t.Errorf("%s: %+v; want a fault with %q", name, d, want)
		}
		if !strings.Contains(r.log.String(), "camera="+name) {
			t.Errorf("the log does not name %s:\n%s", name, r.log)
		}
	}
	if d := r.declared("both"); d.Source != "file" || !strings.HasPrefix(d.URL, "rtsp:") || !strings.Contains(r.log.String(), "in the configuration too") {
		t.Errorf("both: %+v", d)
	}
	refused(t, r.set("future", []byte(`{"fps": 3}`)), 409, "accepts its removal")
	assert.NoError(t, r.Remove(t.Context(), "nonsense"))

	// What is wrong with one can be mended by a change, or outside and a reload.
	assert.NoError(t, r.set("gone", []byte(`{"annotation": null}`)))
	r.runs("both", "gone", "good")
	r.reload(none)
	r.runs("both", "gone", "good")
	if d := r.declared("both"); d.Source != "added" || d.URL != "whip:" {
		t.Errorf("both, once it is not in the configuration: %+v", d)
	}
	r.stop()

	// Another key, and none.
	right, err := os.ReadFile(key)
	require.NoError(t, err)
	for _, text := range []string{strings.Repeat("12", 32), "", "no key"} {
		if err := os.Remove(key); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if text != "" {
			require.NoError(t, os.WriteFile(key, []byte(text), 0o600))
		}
		r := begin(t, &testHost{}, false, none, kept, key)
		if d := r.declared("good"); d.Fault == "" || d.URL != "" {
			t.Errorf("key %q: %+v", text, d)
		}
		_, err := r.Add(t.Context(), []byte(`{"name": "new", "url": "whip:"}`))
		refused(t, err, 503, "cameras.key")
		assert.Equal(t, "", r.declared("new").Name, "key %q: it was added all the same", text)
		if now, _ := os.ReadFile(key); string(now) != text {
			t.Errorf("key %q is now %q", text, now)
		}
		r.runs()
		r.stop()
	}
	require.NoError(t, os.WriteFile(key, []byte(strings.Repeat("12", 32)), 0o600))
	r = begin(t, &testHost{}, false, none, kept, key)
	r.runs()
	require.NoError(t, os.WriteFile(key, right, 0o600))
	r.reload(none)
	r.runs("both", "gone", "good")
	r.add(`{"name": "new", "url": "whip:"}`)
	r.runs("both", "gone", "good", "new")
	if all, _ := r.Declared(); !slices.ContainsFunc(all, func(d api.Declared) bool { return d.Name == "damaged" && d.Fault != "" }) {
		t.Errorf("%+v; what is damaged is there still, and says so", all)
	}
}
