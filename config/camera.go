package config

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/segd/segd/features/coco"
)

// ParseCamera reads one camera, a JSON object with the names of the YAML file, completes and checks it.
// Relative paths are joined to dir. It is to be one of in, whose detector, privacy and recording it has. The error is
// Faults, whose paths begin at the camera: url, or zones[0].polygon.
func ParseCamera(ctx context.Context, text []byte, dir string, in *Config) (Camera, error) {
	const at = "cameras[0]"
	d := &decoder{file: "camera", source: map[string]place{}, readable: true}
	c := &Config{Cameras: make([]Camera, 1), Detector: in.Detector, Privacy: in.Privacy, Recording: in.Recording}
	value, err := decodeJSON(text)
	if err != nil {
		d.fault(place{file: d.file}, "", "not JSON: %v", err)
		return Camera{}, d.faults
	}
	d.json(at, value, reflect.ValueOf(&c.Cameras[0]).Elem())
	c.setDefaults()
	if c.Cameras[0].PasswordFile != "" { // who adds cameras is not to have this machine's files read and sent elsewhere
		d.bad(at+".password_file", "it is for cameras of the configuration file; accepted: the password in the url, or as password")
	}
	d.cameras(c)
	known := coco.Names()
	if in.Detector.Names != "" {
		if known, err = readNames(ctx, in.Detector.Names); err != nil {
			return Camera{}, fmt.Errorf("config: detector.names: %w", err)
		}
	}
	d.detected(c, known)
	if len(d.faults) > 0 {
		for i := range d.faults {
			d.faults[i].Path = strings.TrimPrefix(strings.TrimPrefix(d.faults[i].Path, at), ".")
		}
		slices.SortStableFunc(d.faults, func(a, b Fault) int { return cmp.Compare(a.Path, b.Path) })
		return Camera{}, d.faults
	}
	c.resolve(dir)
	return c.Cameras[0], nil
}

// decodeJSON reads one JSON value, its numbers as they are written.
func decodeJSON(text []byte) (value any, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the first value")
	}
	return value, nil
}

// json stores v, of decodeJSON, in dst, or says why it cannot; as value does of YAML.
func (d *decoder) json(path string, v any, dst reflect.Value) {
	at := place{file: d.file}
	if v == nil {
		return // the default
	}
	d.source[path] = at
	switch dst.Kind() {
	case reflect.Struct:
		members, ok := v.(map[string]any)
		if !ok {
			d.fault(at, path, "%s; accepted: an object with the keys %s", describeJSON(v), strings.Join(keys(dst.Type()), ", "))
			return
		}
		for _, key := range slices.Sorted(maps.Keys(members)) {
			if i := slices.Index(keys(dst.Type()), key); i >= 0 {
				d.json(join(path, key), members[key], dst.Field(i))
			} else {
				d.fault(at, join(path, clip(key)), "unknown; accepted: %s", strings.Join(keys(dst.Type()), ", "))
			}
		}
		return
	case reflect.Slice:
		items, ok := v.([]any)
		if !ok {
			d.fault(at, path, "%s; accepted: a list", describeJSON(v))
			return
		}
		dst.Set(reflect.MakeSlice(dst.Type(), len(items), len(items)))
		for i, item := range items {
			at := fmt.Sprintf("%s[%d]", path, i)
			if item == nil { // null is the default of a key, and an item has none
				d.fault(place{file: d.file}, at, "found null; accepted: one without it")
				continue
			}
			d.json(at, item, dst.Index(i))
		}
		return
	case reflect.String:
		if s, ok := v.(string); ok {
			d.text(at, path, s, dst)
			return
		}
	case reflect.Bool:
		if b, ok := v.(bool); ok {
			dst.SetBool(b)
			return
		}
	case reflect.Int, reflect.Float64:
		if n, ok := v.(json.Number); ok && number(n, dst) {
			return
		}
	}
	d.fault(at, path, "%s; accepted: %s", describeJSON(v), kindName(dst.Kind()))
}

// number stores n in dst, an int or a float64, and tells whether it could.
func number(n json.Number, dst reflect.Value) bool {
	if dst.Kind() == reflect.Float64 {
		f, err := n.Float64()
		dst.SetFloat(f)
		return err == nil
	}
	i, err := strconv.Atoi(n.String())
	dst.SetInt(int64(i))
	return err == nil
}

// describeJSON is describe of JSON.
func describeJSON(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "found an object"
	case []any:
		return "found a list"
	case string:
		return fmt.Sprintf("found the text %q", clip(v))
	case json.Number:
		return "found the number " + clip(v.String())
	}
	return fmt.Sprintf("found %v", v)
}
