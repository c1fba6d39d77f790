package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/segd/segd/api"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/limit"
	"github.com/segd/segd/mask"
	"github.com/segd/segd/objects/privacy"
	"github.com/segd/segd/objects/zones"
)

// pngSignature begins a PNG.
const pngSignature = "\x89PNG\r\n\x1a\n"

// cameras is a Commands with one camera of two objects; call notes what it was asked.
type cameras struct {
	mu      sync.Mutex
	objects []*segdv1.Object
	calls   []string
	fail    error
	width   int
	height  int
	cover   *privacy.Cover // of pictures
}

func newCameras() *cameras {
	box := &segdv1.Box{X: 1, Y: 2, Width: 3, Height: 4}
	return &cameras{width: 6, height: 8, objects: []*segdv1.Object{
		{Id: 1, Label: "walker", State: segdv1.State_STATE_VISIBLE, Box: box, Extent: &segdv1.Box{X: -1, Y: 2, Width: 5, Height: 9}, Area: 12, Score: 0.75, Class: "person", Automatic: true, Counts: counts(image.Rect(1, 2, 4, 6))},
		{Id: 2, Label: "dog", State: segdv1.State_STATE_LOST, Box: &segdv1.Box{}, Counts: counts(image.Rectangle{})},
	}}
}

// counts are the run lengths of a mask of 6×8 pixels that box fills.
func counts(box image.Rectangle) string {
	bits := make([]uint8, 6*8)
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			bits[y*6+x] = 1
		}
	}
	return mask.Encode(bits, 6, 8).String()
}

func (c *cameras) note(format string, args ...any) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = append(c.calls, fmt.Sprintf(format, args...))
	return c.fail
}

// asked is one of them.
type asked struct {
	*cameras
	camera string
}

func (c *cameras) Camera(name string) (Camera, error) { return asked{c, name}, nil }
func (c *cameras) Refuse(err error) error             { return err }

func (c asked) Objects() (uint64, []*segdv1.Object) {
	_ = c.note("objects %s", c.camera)
	return 41, c.objects
}

func (c asked) Rename(ctx context.Context, id uint32, label string) (*segdv1.Object, error) {
	if _, ok := ctx.Deadline(); !ok {
		return nil, errors.New("no deadline")
	}
	o := &segdv1.Object{Id: id, Label: label, State: segdv1.State_STATE_VISIBLE}
	return o, c.note("rename %s %d %q", c.camera, id, label)
}

func (c asked) Keep(ctx context.Context, id uint32) (*segdv1.Object, error) {
	if _, ok := ctx.Deadline(); !ok {
		return nil, errors.New("no deadline")
	}
	o := &segdv1.Object{Id: id, Label: "kept", State: segdv1.State_STATE_VISIBLE, Class: "person"}
	return o, c.note("keep %s %d", c.camera, id)
}

func (c asked) Clear(ctx context.Context, id uint32) error {
	if _, ok := ctx.Deadline(); !ok {
		return errors.New("no deadline")
	}
	return c.note("clear %s %d", c.camera, id)
}

func (c asked) Annotate(ctx context.Context, body []byte) (*segdv1.Annotated, error) {
	if _, ok := ctx.Deadline(); !ok {
		return nil, errors.New("no deadline")
	}
	if strings.Contains(string(body), `"frame":900`) {
		return &segdv1.Annotated{Sequence: 900, MasksSequence: 900, Pending: true}, c.note("annotate %s %d", c.camera, len(body))
	}
	out := &segdv1.Annotated{Sequence: 42, MasksSequence: 44}
	if !bytes.HasPrefix(body, []byte(pngSignature)) {
		out.Objects = c.objects
		out.Warnings = []*segdv1.Warning{{ObjectId: 2, Message: "it has no mask in frame 44"}}
	}
	return out, c.note("annotate %s %d", c.camera, len(body))
}

func (c asked) Preview(_ context.Context, body []byte) (*segdv1.MaskFrame, error) {
	return c.frame(40), c.note("preview %s %d", c.camera, len(body))
}

func (c *cameras) frame(seq uint64) *segdv1.MaskFrame {
	return &segdv1.MaskFrame{Camera: "gate", Sequence: seq, Width: int32(c.width), Height: int32(c.height), Objects: c.objects}
}

func (c asked) Masks(seq uint64) (*segdv1.MaskFrame, error) {
	return c.frame(seq), c.note("masks %s %d", c.camera, seq)
}

func (c asked) Picture(use func(*segdv1.MaskFrame, *privacy.Picture) error) error {
	if err := c.note("picture %s", c.camera); err != nil {
		return err
	}
	return use(c.frame(41), privacy.NewPicture(bytes.Repeat([]byte{90}, 3*c.width*c.height), c.cover, nil))
}

func (c asked) Zones() zones.Layout {
	return zones.Layout{
		Zones: []zones.Zone{
			{Name: c.camera + "-yard", Polygon: []zones.Point{{0, 0}, {0.5, 0}, {0.25, 1}}, By: zones.ByFoot, Share: 0.5},
			{Name: "porch", Polygon: []zones.Point{{0, 0}, {1, 0}, {1, 1}}, By: zones.ByShare, Share: 0.25, Dwell: 90 * time.Second},
		},
		Lines: []zones.Line{{Name: "street", Points: []zones.Point{{0, 0.5}, {1, 0.5}}}},
	}
}

func (c asked) SetZones(ctx context.Context, l zones.Layout) (zones.Layout, error) {
	if _, ok := ctx.Deadline(); !ok {
		return l, errors.New("no deadline")
	}
	err := c.note("zones %s %v", c.camera, l)
	for i := range l.Zones {
		z := &l.Zones[i]
		z.By, z.Share = cmp.Or(z.By, zones.ByFoot), cmp.Or(z.Share, zones.DefaultShare)
	}
	return l, err
}

// A camera tells its zones and lines as the configuration has them, and what they have seen.
func TestZones(t *testing.T) {
	s, h := serve(t, Config{Commands: newCameras()}, "gate")
	s.Status(&segdv1.Status{
		Site: "home", Camera: "gate", Time: timestamppb.Now(),
		Zones: []*segdv1.ZoneStatus{{Name: "gate-yard", Objects: 2, Entries: 7, Stays: 1}},
		Lines: []*segdv1.LineStatus{{Name: "street", AToB: 3, BToA: 4}},
	})
	for _, path := range []string{"/api/v1/cameras", "/api/v1/cameras/gate"} {
		a := ask(t, "GET", h.URL+path, "", "")
		for _, want := range []string{
			`"zones":[{"name":"gate-yard","polygon":[[0,0],[0.5,0],[0.25,1]],"by":"foot","share":0.5,"dwell":""},` +
				`{"name":"porch","polygon":[[0,0],[1,0],[1,1]],"by":"share","share":0.25,"dwell":"1m30s"}]`,
			`"lines":[{"name":"street","points":[[0,0.5],[1,0.5]]}]`,
			`"zones":[{"name":"gate-yard","objects":2,"entries":"7","stays":"1"}]`,
			`"lines":[{"name":"street","aToB":"3","bToA":"4"}]`,
		} {
			assert.Contains(t, strings.ReplaceAll(a.body, " ", ""), want, "%s: %s", path, a.body)
		}
	}
}

// answer is one of the API.
type answer struct {
	status int
	header http.Header
	body   string
}

// ask sends a request and reads the answer, which openapi.json must describe.
func ask(t *testing.T, method, url, contentType, body string, header ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	a := answer{resp.StatusCode, resp.Header, string(text)}
	if path, ok := strings.CutPrefix(req.URL.Path, apiRoot); ok {
		assert.NoError(t, describedAPI(t).check(method, path, a), "%s %s", method, url)
	}
	if a.status >= 400 {
		var d api.Problem
		if err := json.Unmarshal(text, &d); method != http.MethodHead && (err != nil || d.Status != a.status || d.Title == "" || d.Detail == "" ||
			resp.Header.Get("Content-Type") != "application/problem+json") {
			t.Errorf("%s %s: no problem document but %s %q", method, url, resp.Header.Get("Content-Type"), text)
		}
	}
	return a
}

// want wants the answer to have that status, and text in it; message says to what it is the answer.
func (a answer) want(t *testing.T, status int, text, message string, args ...any) {
	t.Helper()
	if a.status != status || !strings.Contains(a.body, text) {
		t.Errorf("%s: %d %.500s; want %d with %q", fmt.Sprintf(message, args...), a.status, a.body, status, text)
	}
}

func TestCommands(t *testing.T) {
	c := newCameras()
	_, h := serve(t, Config{Commands: c}, "gate")
	base := h.URL + "/api/v1/cameras/gate"
	const note = `{"width":6,"height":8,"objects":[]}`
	for _, tt := range []struct {
		name, method, path, contentType, body string
		status                                int
		want                                  string // within the answer
		call                                  string
	}{
		{"objects", "GET", "/objects", "", "", 200, `{"sequence":41,"objects":[{"id":1,"label":"walker","state":"STATE_VISIBLE","box":{"x":1,"y":2,"width":3,"height":4},"extent":{"x":-1,"y":2,"width":5,"height":9},"area":12,"score":0.75,"class":"person","automatic":true},{"id":2,`, "objects gate"},
		{"rename", "PATCH", "/objects/2", typeJSON, `{"label":"cat"}`, 200, `{"id":2,"label":"cat",`, `rename gate 2 "cat"`},
		{"rename to nothing", "PATCH", "/objects/2", typeJSON, `{}`, 400, `"errors":[{"pointer":"/label","detail":"it is missing`, ""},
		{"rename to null", "PATCH", "/objects/2", typeJSON, `{"label":null}`, 400, `"/label"`, ""},
		{"rename to a number", "PATCH", "/objects/2", typeJSON, `{"label":3}`, 400, `"pointer":"/label","detail":"a JSON number; accepts a string"`, ""},
		{"rename with more", "PATCH", "/objects/2", typeJSON, `{"label":"cat","color":"red"}`, 400, `unknown field \"color\"`, ""},
		{"rename to a text", "PATCH", "/objects/2", typeJSON, `{"label":"` + strings.Repeat("x", 300) + `"}`, 400, `"pointer":"/label","detail":"300 bytes; accepted: at most 256"`, ""},
		{"rename with null", "PATCH", "/objects/2", typeJSON, `null`, 400, "it is null", ""},
		{"rename with half", "PATCH", "/objects/2", typeJSON, `{"label":`, 400, "unexpected end", ""},
		{"rename as a form", "PATCH", "/objects/2", "application/x-www-form-urlencoded", `label=cat`, 415, `accepts [\"application/json\"]`, ""},
		{"rename at length", "PATCH", "/objects/2", typeJSON, `{"label":"` + strings.Repeat("x", limit.MaxBody) + `"}`, 413, "larger than the 16 KiB accepted", ""},
		{"rename object 0", "PATCH", "/objects/0", typeJSON, `{"label":"cat"}`, 400, `"field":"id","detail":"\"0\"; accepts an object's number, 1 to 4294967295"`, ""},
		{"clear one", "DELETE", "/objects/2", "", "", 204, "", "clear gate 2"},
		{"clear a word", "DELETE", "/objects/all", "", "", 400, `accepts an object's number`, ""},
		{"clear all", "DELETE", "/objects", "", "", 204, "", "clear gate 0"},
		{"annotate", "POST", "/annotations", typeJSON, note, 200, `{"sequence":42,"masks_sequence":44,"pending":false,"objects":[{"id":1,"label":"walker","state":"STATE_VISIBLE",`, "annotate gate 35"},
		{"annotate, and an object comes out empty", "POST", "/annotations", typeJSON, note, 200, `"warnings":[{"id":2,"message":"it has no mask in frame 44"}]}`, "annotate gate 35"},
		{"annotate a frame far ahead", "POST", "/annotations", typeJSON, `{"frame":900}`, 202, `{"sequence":900,"masks_sequence":900,"pending":true,"objects":[],"warnings":[]}`, "annotate gate 13"},
		{"annotate by PNG", "POST", "/annotations?preview=false", typePNG, pngSignature, 200, `{"sequence":42,"masks_sequence":44,"pending":false,"objects":[],"warnings":[]}`, "annotate gate 8"},
		{"preview", "POST", "/annotations?preview=true", typeJSON + "; charset=utf-8", note, 200, `{"sequence":40,"width":6,"height":8,"objects":[{"id":1,"label":"walker",`, "preview gate 35"},
		{"preview perhaps", "POST", "/annotations?preview=1", typeJSON, note, 400, `"field":"preview"`, ""},
		{"annotate by JSON as PNG", "POST", "/annotations", typePNG, note, 415, "looks like application/json", ""},
		{"annotate by PNG as JSON", "POST", "/annotations", typeJSON, pngSignature, 415, "looks like image/png", ""},
		{"annotate with text", "POST", "/annotations", "text/plain", note, 415, "text/plain", ""},
		{"annotate with who knows", "POST", "/annotations", "", note, 415, "accepts", ""},
		{"annotate with nothing", "POST", "/annotations", typeJSON, "", 400, "the body is empty", ""},
		{"annotate with much", "POST", "/annotations", typeJSON, strings.Repeat(" ", limit.MaxAnnotation+1), 413, "larger than the 16 MiB accepted", ""},
		{"another method", "PUT", "/objects", "", "", 405, "method PUT; accepts DELETE, GET, HEAD", ""},
		{"another path", "GET", "/nothing", "", "", 404, "nothing is at", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c.calls = nil
			a := ask(t, tt.method, base+tt.path, tt.contentType, tt.body)
			a.want(t, tt.status, tt.want, "%s", tt.name)
			want := []string{tt.call}
			if tt.call == "" {
				want = nil
			}
			assert.Equal(t, want, c.calls, "the camera was asked")
			if tt.status == 405 && a.header.Get("Allow") != "DELETE, GET, HEAD" {
				t.Errorf("Allow: %q", a.header.Get("Allow"))
			}
		})
	}
	ask(t, "GET", h.URL+"/api/v1/cameras/attic/objects", "", "").want(t, 404, "attic", "an unknown camera")
	if a := ask(t, "GET", base, "", ""); a.status != 200 || !strings.HasPrefix(a.body, `{"name":"gate",`) {
		t.Errorf("one camera: %d %s", a.status, a.body)
	}
}

func TestCommandErrors(t *testing.T) {
	c := newCameras()
	_, h := serve(t, Config{Commands: c}, "gate")
	for _, tt := range []struct {
		err    error
		status int
		want   string
	}{
		{&api.Refusal{Status: 409, Detail: "another waits", Fields: []api.Field{{Pointer: "/frame", Detail: "7"}}}, 409, `"detail":"another waits","errors":[{"pointer":"/frame","detail":"7"}]`},
		{fmt.Errorf("wrapped: %w", &api.Refusal{Status: 503, Detail: "it is down"}), 503, `"detail":"it is down"`},
		{context.DeadlineExceeded, 504, "deadline"},
		{errors.New("a bug"), 500, "a bug"},
	} {
		c.fail = tt.err
		paths := []string{"POST /annotations", "POST /annotations?preview=true"}
		if tt.status != 409 {
			paths = append(paths, "DELETE /objects/1", "DELETE /objects")
		}
		for _, path := range paths {
			method, path, _ := strings.Cut(path, " ")
			a := ask(t, method, h.URL+"/api/v1/cameras/gate"+path, typeJSON, "{}")
			a.want(t, tt.status, tt.want, "%s %s when the camera says %v", method, path, tt.err)
		}
	}
}

// Pages of other sites change nothing, whatever the browser sends along.
func TestOtherSitesChangeNothing(t *testing.T) {
	for _, token := range []string{"", testToken} {
		c := newCameras()
		_, h := serve(t, Config{Commands: c, Token: token}, "gate")
		url := h.URL + "/api/v1/cameras/gate/objects/1"
		cookie := cookieName + "=" + sessionOf(testToken)
		for _, tt := range []struct {
			name   string
			header []string
			status int
		}{
			{"another site", []string{"Sec-Fetch-Site", "cross-site", "Cookie", cookie}, 403},
			{"a neighbour", []string{"Sec-Fetch-Site", "same-site", "Cookie", cookie}, 403},
			{"an old browser on another site", []string{"Origin", "https://evil.example", "Cookie", cookie}, 403},
			{"another site with a name and password", []string{"Origin", "https://evil.example", "Cookie", cookie, "Authorization", "Basic eDp5"}, 403},
			{"our page", []string{"Sec-Fetch-Site", "same-origin", "Origin", h.URL, "Cookie", cookie}, 204},
			{"a program", []string{"Cookie", cookie}, 204},
		} {
			ask(t, "DELETE", url, "", "", tt.header...).want(t, tt.status, "", "%s, token %q", tt.name, token)
		}
		want := map[string]int{"": 403, testToken: 204}[token] // without a token set, presenting one means nothing
		ask(t, "DELETE", url, "", "", "Origin", "https://ours.example", "Authorization", "Bearer "+testToken).want(t, want, "", "another site with the bearer token, token %q", token)
	}
}

func TestAPIWantsTheToken(t *testing.T) {
	for _, token := range []string{"", "Bearer wrong", "Bearer " + testToken + "x", "Basic " + testToken} {
		s, h := serve(t, Config{Commands: newCameras(), Token: testToken}, "gate") // each with a rate limit of its own
		for _, r := range s.api() {
			url := h.URL + strings.NewReplacer("{camera}", "gate", "{id}", "1").Replace(r.path)
			a := ask(t, r.method, url, "", "", "Authorization", token)
			if a.status != http.StatusUnauthorized || a.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s %s with %q: %d", r.method, r.path, token, a.status)
			}
		}
	}
}

// A client that asks without end is told to wait, and others are not.
func TestRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // no allowance comes meanwhile
		s, err := New(Config{Commands: newCameras()})
		require.NoError(t, err)
		defer s.Close()
		s.Cameras([]string{"gate"})
		from := func(addr, method, path string) int {
			req, err := http.NewRequestWithContext(t.Context(), method, "http://localhost"+path, strings.NewReader("{}"))
			require.NoError(t, err)
			req.RemoteAddr = addr
			req.Header.Set("Content-Type", typeJSON)
			w := &recordedAnswer{header: http.Header{}}
			s.Handler().ServeHTTP(w, req)
			if w.status == http.StatusTooManyRequests && (w.header.Get("Retry-After") == "" || !strings.Contains(w.body.String(), "try again in")) {
				t.Errorf("429 without a time: %v %s", w.header, &w.body)
			}
			return w.status
		}
		const greedy = "192.0.2.1:1000"
		granted := 0
		for range 10 * limit.Burst {
			if from(greedy, "POST", "/api/v1/cameras/gate/annotations") == 200 {
				granted++
			}
		}
		assert.Equal(t, limit.Burst/limit.CostLarge, granted, "annotations granted at once")
		assert.Equal(t, 429, from("192.0.2.1:2000", "POST", "/api/v1/cameras/gate/annotations"), "from another port")
		assert.Equal(t, 200, from("192.0.2.2:1000", "POST", "/api/v1/cameras/gate/annotations"), "from another address")
		for i := range 3 * limit.MaxKeys {
			from(fmt.Sprintf("[2001:db8:%x::1]:1", i), "GET", "/api/v1/cameras")
		}
		if n := s.gate.limits.Len(); n > limit.MaxKeys {
			t.Errorf("%d clients are remembered", n)
		}
	})
}

// recordedAnswer is an http.ResponseWriter.
type recordedAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *recordedAnswer) Header() http.Header { return w.header }
func (w *recordedAnswer) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}
func (w *recordedAnswer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

// What segd marked by itself is kept by the same request that renames.
func TestKeep(t *testing.T) {
	c := newCameras()
	_, h := serve(t, Config{Commands: c}, "gate")
	for _, tt := range []struct {
		name, path, body string
		status           int
		want             string // within the answer
		calls            []string
	}{
		{"keep", "/objects/70000", `{"kept":true}`, 200, `{"id":70000,"label":"kept","state":"STATE_VISIBLE","box":{"x":0,"y":0,"width":0,"height":0},"area":0,"score":0,"class":"person","automatic":false}`, []string{"keep gate 70000"}},
		{"rename and keep", "/objects/256", `{"label":"cat","kept":true}`, 200, `{"id":256,"label":"kept",`, []string{`rename gate 256 "cat"`, "keep gate 256"}},
		{"keep no longer", "/objects/256", `{"kept":false}`, 400, `"pointer":"/kept","detail":"false; accepts true`, nil},
		{"keep perhaps", "/objects/256", `{"kept":1}`, 400, `"pointer":"/kept","detail":"a JSON number; accepts a boolean"`, nil},
	} {
		c.calls = nil
		a := ask(t, "PATCH", h.URL+"/api/v1/cameras/gate"+tt.path, typeJSON, tt.body)
		if a.status != tt.status || !strings.Contains(a.body, tt.want) || !slices.Equal(c.calls, tt.calls) {
			t.Errorf("%s: %d %q, asked %q; want %d with %q, asked %q", tt.name, a.status, a.body, c.calls, tt.status, tt.want, tt.calls)
		}
	}
}
