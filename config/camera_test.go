package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/config"
)

// A camera as JSON is what it is as YAML, defaults, paths and all.
func TestParseCamera(t *testing.T) {
	const json = `{"name": "yard", "url": "dir:pictures", "loop": true, "fps": 5, "annotation": "yard.json",
		"detect": {"classes": ["person"], "max_objects": 3, "zones": ["porch"]},
		"zones": [{"name": "porch", "polygon": [[0, 0], [1, 0], [1.0, 1]], "by": "share", "share": 0.25}],
		"lines": [{"name": "street", "points": [[0, 0.5], [1, 0.5]]}], "transport": null}`
	dir := t.TempDir()
	file := filepath.Join(dir, "segd.yaml")
	require.NoError(t, os.WriteFile(file, []byte("cameras: ["+json+"]"), 0o600))
	want, err := config.Load(t.Context(), file, nil)
	require.NoError(t, err)
	got, err := config.ParseCamera(t.Context(), []byte(json), dir, &config.Config{})
	require.NoError(t, err)
	assert.Empty(t, cmp.Diff(want.Cameras[0], got))
	if got.URL != "dir:"+filepath.Join(dir, "pictures") || got.Transport != "auto" {
		t.Errorf("%+v", got)
	}
}

// All that is wrong is named at once, each at its place.
func TestParseCameraFaults(t *testing.T) {
	names := filepath.Join(t.TempDir(), "names")
	require.NoError(t, os.WriteFile(names, []byte("badger\nfox\n"), 0o600))
	for name, tt := range map[string]struct {
		text string
		want []string // paths and the beginnings of what is said
	}{
		"several":        {`{"name": "a b", "url": "ftp://u:geheim@h/", "fps": "5", "loop": 1, "x": 1}`, []string{`fps: found the text "5"`, `loop: found the number 1`, `name: "a b" contains`, `url: scheme "ftp"`, `x: unknown; accepted: name, url`}},
		"nothing":        {`{}`, []string{`name: missing`, `url: missing`}},
		"a list":         {`[]`, []string{`: found a list; accepted: an object`, `name: missing`, `url: missing`}},
		"no JSON":        {`{"name"`, []string{`: not JSON`}},
		"two":            {`{} {}`, []string{`: not JSON: something follows`}},
		"parts":          {`{"name": "a", "url": "whip:", "zones": [{"name": "z", "polygon": [[0, 0], [1]]}], "detect": {"max_objects": 1.5, "classes": ["fox"]}}`, []string{`detect.max_objects: found the number 1.5`, `zones[0].polygon`, `zones[0].polygon[1]: 1 numbers`}},
		"classes":        {`{"name": "a", "url": "whip:", "detect": {"classes": ["person"]}}`, []string{`detect.classes[0]: "person"; accepted: one of the 2 classes`}},
		"share":          {`{"name": "a", "url": "whip:", "zones": [{"name": "z", "polygon": [[0, 0], [1, 0], [1, 1]], "share": 0.5}]}`, []string{`zones[0].share: the zone goes by foot`}},
		"no fingerprint": {`{"name": "a", "url": "rtsp://h/", "fingerprint": "12"}`, []string{`fingerprint: "12"`}},
		"a file":         {`{"name": "a", "url": "rtsp://u@h/", "password_file": "/etc/shadow", "rotate": 1}`, []string{`password_file: it is for cameras of the configuration file`, `rotate: found 1`}},
		"huge":           {`{"name": "a", "url": "whip:", "fps": 1e999, "detect": {"classes": ["fox"], "max_objects": 99999999999999999999}}`, []string{`detect.max_objects: found the number`, `fps: found the number 1e999`}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := config.ParseCamera(t.Context(), []byte(tt.text), "", &config.Config{Detector: config.Detector{Names: names}})
			var faults config.Faults
			if !errors.As(err, &faults) {
				t.Fatalf("%v; want Faults", err)
			}
			var got []string
			for _, f := range faults {
				got = append(got, f.Path+": "+f.Message)
			}
			if !slices.EqualFunc(got, tt.want, strings.HasPrefix) {
				t.Errorf("%q\nwant %q", got, tt.want)
			}
			assert.NotContains(t, err.Error(), "geheim", "the password is in %v", err)
		})
	}
}

func FuzzParseCamera(f *testing.F) {
	f.Add(`{"name": "a", "url": "rtsp://h/", "detect": {"classes": ["person"]}, "zones": [{"name": "z", "polygon": [[0, 0], [1, 0], [1, 1]]}]}`)
	f.Add(`{"fps": 1e999, "zones": [[], {}, 0]}`)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := config.ParseCamera(t.Context(), []byte(text), "", &config.Config{})
		var faults config.Faults
		if err == nil && (c.Name == "" || c.URL == "" || c.FPS == 0) || err != nil && !errors.As(err, &faults) {
			t.Errorf("%+v, %v", c, err)
		}
	})
}

// A camera that is added has the privacy of all, unless it has its own.
func TestParseCameraPrivacy(t *testing.T) {
	in := &config.Config{Privacy: config.Privacy{Blur: []string{"person"}, Margin: "10%", Show: config.ShowNobody}}
	for _, tt := range []struct {
		more string
		want string // a path; "" if it is accepted
		hide []string
	}{
		{`"detect": {"classes": ["person"]}`, "", []string{"person"}},
		{`"detect": {"classes": ["person", "car"]}, "privacy": {"blur": ["car"]}`, "", []string{"car"}},
		{`"privacy": {"off": true}`, "", nil},
		{`"detect": {"classes": ["forklift"]}, "privacy": {"off": true}`, "detect.classes[0]", nil},
		{`"fps": 5`, "", []string{"person"}},
		{`"detect": {"classes": ["car"]}`, "privacy", nil},
		{`"detect": {"classes": ["person"]}, "privacy": {"blur": ["car"]}`, "privacy.blur[0]", nil},
	} {
		cam, err := config.ParseCamera(t.Context(), []byte(`{"name": "a", "url": "whip:", `+tt.more+`}`), "", in)
		var faults config.Faults
		if errors.As(err, &faults) && faults[0].Path == tt.want {
			continue
		}
		if tt.hide != nil && cam.Detect.Every != config.DefaultPrivacyEvery {
			t.Errorf("%s: looks every %s", tt.more, cam.Detect.Every)
		}
		if got := in.PrivacyOf(cam).Blur; err != nil || tt.want != "" || !slices.Equal(got, tt.hide) {
			t.Errorf("%s: hides %q, %v", tt.more, got, err)
		}
	}
}

// What is hidden in all cameras may have a name of the detector's own, also where the camera says nothing of what it detects.
func TestParseCameraPrivacyOfNames(t *testing.T) {
	names := filepath.Join(t.TempDir(), "names.txt")
	require.NoError(t, os.WriteFile(names, []byte("forklift\n"), 0o600))
	in := &config.Config{Detector: config.Detector{Names: names}, Privacy: config.Privacy{Blur: []string{"forklift"}, Margin: "10%", Show: config.ShowNobody}}
	for _, more := range []string{`"privacy": {"off": true}`, `"fps": 5`, `"detect": {"classes": ["forklift"]}`} {
		_, err := config.ParseCamera(t.Context(), []byte(`{"name": "a", "url": "whip:", `+more+`}`), "", in)
		assert.NoError(t, err, "%s", more)
	}
}
