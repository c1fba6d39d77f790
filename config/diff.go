package config

import (
	"reflect"
	"slices"
	"strings"
)

// Difference is how one configuration differs from another. Settings are named by their paths,
// such as http.addr; a list outside the cameras is one setting.
type Difference struct {
	Settings []string // outside the cameras list, in the order of the file
	Added    []string // names of cameras, in the order of the new configuration
	Removed  []string // likewise, of the old one
	Changed  []CameraDifference
}

// CameraDifference is how a camera differs from the one of the same name.
type CameraDifference struct {
	Name     string
	Settings []string // such as url or detect.score
}

// LayoutOnly tells whether nothing but zones and lines differ.
func (d CameraDifference) LayoutOnly() bool {
	return !slices.ContainsFunc(d.Settings, func(s string) bool { return s != "zones" && s != "lines" })
}

// Diff returns how b differs from a. The order of the cameras is no difference.
func Diff(a, b *Config) Difference {
	x, y := *a, *b
	x.Cameras, y.Cameras = nil, nil
	d := Difference{Settings: differing("", reflect.ValueOf(x), reflect.ValueOf(y))}
	for _, cam := range b.Cameras {
		i := slices.IndexFunc(a.Cameras, func(c Camera) bool { return c.Name == cam.Name })
		if i < 0 {
			d.Added = append(d.Added, cam.Name)
		} else if settings := a.changed(b, a.Cameras[i], cam); len(settings) > 0 {
			d.Changed = append(d.Changed, CameraDifference{cam.Name, settings})
		}
	}
	for _, cam := range a.Cameras {
		if !slices.ContainsFunc(b.Cameras, func(c Camera) bool { return c.Name == cam.Name }) {
			d.Removed = append(d.Removed, cam.Name)
		}
	}
	return d
}

// changed are the settings by which a camera of b differs from the one of c. Of what is hidden in all cameras each that has
// nothing of its own differs, too.
func (c *Config) changed(b *Config, from, to Camera) []string {
	settings := differing("", reflect.ValueOf(from), reflect.ValueOf(to))
	hides := differing("privacy", reflect.ValueOf(c.PrivacyOf(from)), reflect.ValueOf(b.PrivacyOf(to)))
	if slices.ContainsFunc(settings, func(s string) bool { return strings.HasPrefix(s, "privacy.") }) {
		hides = nil // they are there
	}
	return append(settings, hides...)
}

// differing are the paths below path of what differs between two structs of one type.
func differing(path string, a, b reflect.Value) (paths []string) {
	for i, key := range keys(a.Type()) {
		x, y, at := a.Field(i), b.Field(i), join(path, key)
		switch {
		case x.Kind() == reflect.Struct:
			paths = append(paths, differing(at, x, y)...)
		case x.Kind() == reflect.Slice && x.Len() == 0 && y.Len() == 0: // left out, or []
		case !reflect.DeepEqual(x.Interface(), y.Interface()):
			paths = append(paths, at)
		}
	}
	return paths
}
