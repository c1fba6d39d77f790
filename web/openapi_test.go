package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/limit"
)

// description is what the tests read of openapi.json.
type description struct {
	doc     map[string]any
	compile *jsonschema.Compiler
}

var described = sync.OnceValues(func() (*description, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(openAPI))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("openapi.json", doc); err != nil {
		return nil, err
	}
	return &description{doc.(map[string]any), c}, nil
})

func describedAPI(t *testing.T) *description {
	t.Helper()
	d, err := described()
	require.NoError(t, err)
	return d
}

// at follows a way through the document, references too. It returns where it ends as
// a JSON pointer, and what is there: nil if nothing is.
func (d *description) at(way ...string) (pointer string, found any) {
	found = d.doc
	for _, name := range way {
		object, ok := found.(map[string]any)
		if !ok {
			return "", nil
		}
		found = object[name]
		pointer += "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		if target, ok := found.(map[string]any); ok {
			if ref, ok := target["$ref"].(string); ok {
				pointer, found = d.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
			}
		}
	}
	return pointer, found
}

// operation finds the path that describes a request, and its operation. HEAD is
// described by GET.
func (d *description) operation(method, path string) (template, name string) {
	name = strings.ToLower(method)
	if method == http.MethodHead {
		name = "get"
	}
	given := strings.Split(path, "/")
	for template := range d.doc["paths"].(map[string]any) {
		parts := strings.Split(template, "/")
		fits := len(parts) == len(given)
		for i := range parts {
			fits = fits && (strings.HasPrefix(parts[i], "{") || parts[i] == given[i])
		}
		if _, found := d.at("paths", template, name); fits && found != nil {
			return template, name
		}
	}
	return "", ""
}

// check tells whether openapi.json describes an answer: its status, its media type and
// its JSON.
func (d *description) check(method, path string, a answer) error {
	template, name := d.operation(method, path)
	if template == "" {
		if a.status == http.StatusNotFound || a.status == http.StatusMethodNotAllowed {
			return nil // it says so itself
		}
		return fmt.Errorf("not in openapi.json and answered with %d", a.status)
	}
	way := []string{"paths", template, name, "responses", fmt.Sprint(a.status)}
	_, found := d.at(way...)
	if found == nil {
		return fmt.Errorf("%s: status %d is not in openapi.json", template, a.status)
	}
	content := found.(map[string]any)["content"]
	given, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	if content == nil {
		if a.body != "" {
			return fmt.Errorf("%s: status %d has no content in openapi.json, and answers %q", template, a.status, a.body)
		}
		return nil
	}
	pointer, schema := d.at(append(way, "content", given, "schema")...)
	if schema == nil {
		return fmt.Errorf("%s: status %d is not of type %s in openapi.json", template, a.status, given)
	}
	if !strings.HasSuffix(given, "json") || method == http.MethodHead {
		return nil
	}
	compiled, err := d.compile.Compile("openapi.json#" + pointer)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(a.body))
	if err != nil {
		return err
	}
	return compiled.Validate(value)
}

// Every route is described, and everything described is a route.
func TestOpenAPIHasTheRoutes(t *testing.T) {
	s, err := New(Config{Commands: newCameras(), Cameras: &managed{}, Settings: func() json.RawMessage { return json.RawMessage("{}") }, Reload: reloads, Fleet: &testFleet{}})
	require.NoError(t, err)
	defer s.Close()
	var served, inFile []string
	for _, r := range s.api() {
		served = append(served, r.method+" "+r.path)
	}
	d := describedAPI(t)
	for path, item := range d.doc["paths"].(map[string]any) {
		for method := range item.(map[string]any) {
			inFile = append(inFile, strings.ToUpper(method)+" "+apiRoot+path)
		}
	}
	slices.Sort(served)
	slices.Sort(inFile)
	if !slices.Equal(served, inFile) {
		t.Errorf("served:\n%s\ndescribed:\n%s", strings.Join(served, "\n"), strings.Join(inFile, "\n"))
	}
}

// Every reference leads somewhere, every schema is one, and the enums and limits are
// the code's.
func TestOpenAPIIsSound(t *testing.T) {
	d := describedAPI(t)
	if d.doc["openapi"] != "3.1.0" {
		t.Errorf("version %v", d.doc["openapi"])
	}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				if _, found := d.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...); found == nil {
					t.Errorf("%s: %s leads nowhere", at, ref)
				}
			}
			for name, member := range v {
				if name == "schema" || at == "/components/schemas" {
					pointer := at + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
					_, err := d.compile.Compile("openapi.json#" + pointer)
					assert.NoError(t, err, "%s", pointer)
				}
				walk(at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), member)
			}
		case []any:
			for i, item := range v {
				walk(fmt.Sprintf("%s/%d", at, i), item)
			}
		}
	}
	walk("", d.doc)

	_, states := d.at("components", "schemas", "Object", "properties", "state", "enum")
	var want []any
	for n := int32(1); n < int32(len(segdv1.State_name)); n++ {
		want = append(want, segdv1.State_name[n])
	}
	assert.Equal(t, fmt.Sprint(want), fmt.Sprint(states), "states %v, want %v", states, want)
	for _, path := range []string{"/history", "/history/export"} {
		_, found := d.at("paths", path, "get", "parameters")
		for _, p := range found.([]any) {
			if p := p.(map[string]any); p["name"] == "kind" {
				if kinds := p["schema"].(map[string]any)["enum"]; fmt.Sprint(kinds) != fmt.Sprint(segdv1.KindNames()) {
					t.Errorf("%s: kinds %v, want %v", path, kinds, segdv1.KindNames())
				}
			}
		}
	}
	if _, most := d.at("components", "parameters", "id", "schema", "maximum"); fmt.Sprint(most) != fmt.Sprint(uint32(maxObjectID)) {
		t.Errorf("ids up to %v, want %d", most, uint32(maxObjectID))
	}
	_, text := d.at("info", "description")
	for _, n := range []int{limit.PerSecond, limit.Burst, limit.CostWork, limit.CostLarge} {
		assert.Contains(t, text.(string), fmt.Sprint(n), "the description does not name %d", n)
	}
}

// The judge is judged: answers that are not as described are found.
func TestOpenAPICheckFinds(t *testing.T) {
	d := describedAPI(t)
	header := http.Header{"Content-Type": {typeJSON}}
	for name, tt := range map[string]struct {
		path string
		a    answer
		want string
	}{
		"right":          {"/cameras", answer{200, header, `{"version":"","access":"viewer","cores":2,"cameras":[]}`}, ""},
		"field missing":  {"/cameras", answer{200, header, `{"access":"viewer","cores":2,"cameras":[]}`}, "version"},
		"field too many": {"/cameras", answer{200, header, `{"version":"","access":"viewer","cores":2,"cameras":[],"x":1}`}, "x"},
		"wrong type":     {"/cameras/a/objects", answer{200, header, `{"sequence":"1","objects":[]}`}, "sequence"},
		"wrong media":    {"/cameras", answer{200, http.Header{"Content-Type": {"text/html"}}, ``}, "text/html"},
		"wrong status":   {"/cameras", answer{418, header, `{}`}, "418"},
		"unknown path":   {"/nothing", answer{200, header, `{}`}, "not in openapi.json"},
	} {
		err := d.check("GET", tt.path, tt.a)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", name, err, tt.want)
		}
	}
}

// Events, which come by SSE, are as described, with an extent and without.
func TestOpenAPIDescribesEvents(t *testing.T) {
	schema, err := describedAPI(t).compile.Compile("openapi.json#/components/schemas/Event")
	require.NoError(t, err)
	for _, tt := range []struct {
		extent, box *segdv1.Box
		ok          bool
	}{
		{nil, nil, true}, {&segdv1.Box{X: -3, Width: 5, Height: 9}, &segdv1.Box{X: 3, Width: 5, Height: 9}, true},
		{&segdv1.Box{}, nil, false}, {nil, &segdv1.Box{X: -3, Width: 5, Height: 9}, false},
	} {
		text, err := wire.Marshal(&segdv1.Event{
			Camera: "gate", Kind: segdv1.EventKind_EVENT_KIND_OBJECT_LOST, ObjectId: 1, ObjectClass: "person", Extent: tt.extent,
			Box: tt.box, Score: .8, CaptureTime: timestamppb.Now(), Width: 640, Height: 480,
		})
		require.NoError(t, err)
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		require.NoError(t, err)
		if err := schema.Validate(value); (err == nil) != tt.ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestOpenAPIIsServed(t *testing.T) {
	_, h := serve(t, Config{}, "gate")
	if a := ask(t, "GET", h.URL+"/api/v1/openapi.json", "", ""); a.status != 200 || a.body != string(openAPI) {
		t.Errorf("%d, %d bytes", a.status, len(a.body))
	}
}
