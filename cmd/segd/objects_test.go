package main

import (
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cameras"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/waitfor"
)

// A running segd is asked by the command line and by HTTP, and both mean the same
// objects.
func TestObjectsOfARunningSegd(t *testing.T) {
	t.Parallel()
	server := daemontest.Camera(t, demo.Config{})
	httpAddr, natsAddr := freeport.Addr(t), freeport.Addr(t)
	api := "http://" + httpAddr + "/api/v1"
	segd := start(t, "run", "-c", clitest.File(t, "segd.yaml", daemontest.Quick(httpAddr, natsAddr)+"cameras:\n"+
		"  - {name: gate, transport: tcp, url: '"+server.URL()+"', annotation: '"+clitest.File(t, "a.json", daemontest.Annotation)+"'}\n"))
	h := listen(t, natsAddr)
	waitfor.True(t, "an object", func() bool {
		masks := h.of("gate")
		return len(masks) > 3 && len(masks[len(masks)-1].Objects) == 1
	})

	picture := filepath.Join(t.TempDir(), "gate.jpg")
	annotations := filepath.Join(t.TempDir(), "gate.json")
	commands := func(table [][]string) { // arguments; exit status; parts of one line
		for _, row := range table {
			args := strings.Fields(row[0])
			for i, a := range args {
				args[i] = strings.NewReplacer("NAME", "the one", "FILE", picture, "SAVED", annotations).Replace(a)
			}
			c := start(t, append(args, "--nats", "nats://"+natsAddr)...)
			var printed strings.Builder
			got := fmt.Sprint(cli.Report(&printed, c.Wait(t)))
			out := c.Out.String() + printed.String()
			if got != row[1] || !clitest.LineWith(strings.ReplaceAll(out, " ", ""), row[2:]) {
				t.Errorf("segd %s: exit status %s, want %s with %q in\n%s", row[0], got, row[1], row[2:], out)
			}
		}
	}
	commands([][]string{
		{"objects gate", "0", "1square", "visible"},
		{"rename gate 1 NAME", "0", `gate:object1is"theone"`},
		{"rename gate 0 NAME", "2", `ID"0"`, "from1on"},
		{"rename gate 2 NAME", "2", "unknownobject2;thereis[1]"},
		{"objects gate", "0", "1theone", "visible"},
		{"objects --json gate", "0", `"label":"theone"`, `"sequence":`},
		{"objects gate --save SAVED --page http://" + httpAddr, "0", "gate:theobjectsofframe"},
		{"objects attic --save SAVED --page http://" + httpAddr, "2", `"attic"`},
		{"snapshot gate FILE", "0", "gate:", "gate.jpg"},
		{"snapshot --overlay gate FILE", "0", "gate:", "gate.jpg"},
		{"snapshot gate FILE/x", "2", "gate.jpg/x"},
		{"clear gate first", "2", `ID"first"`, "from1on"},
		{"clear gate 7", "2", "unknownobject7;thereis[1]"},
		{"objects attic", "2", `"attic"`, "home/gate"},
	})
	if a, err := cameras.ReadAnnotation(t.Context(), annotations); err != nil || len(a.Objects) != 1 || a.Objects[0].Label != "the one" || a.Mask == nil || a.Picture == nil {
		t.Errorf("what was saved is %+v, %v; want the object with its mask and picture", a, err)
	}
	assert.Contains(t, get(t, api+"/cameras/gate/objects"), `"label":"the one"`, "the API lists")
	f, err := os.Open(picture)
	require.NoError(t, err)
	defer f.Close()
	masks := h.of("gate")
	if size, err := jpeg.DecodeConfig(f); err != nil || size.Width != int(masks[0].Width) || size.Height != int(masks[0].Height) {
		t.Errorf("the picture is %d×%d, %v", size.Width, size.Height, err)
	}

	// By HTTP: seen first, then used, then removed.
	last := masks[len(masks)-1]
	note := fmt.Sprintf(`{"frame":%d,"width":%d,"height":%d,"objects":[{"id":2,"label":"corner","box":[0,0,20,20]}]}`, last.Sequence, last.Width, last.Height)
	post := func(query, body string) (int, string) {
		return send(t, http.MethodPost, api+"/cameras/gate/annotations"+query, body)
	}
	if status, text := post("?preview=true", note); status != 200 || !strings.Contains(text, fmt.Sprintf(`{"sequence":%d,`, last.Sequence)) || !strings.Contains(text, `"label":"corner"`) {
		t.Errorf("preview: %d %s", status, text)
	}
	assert.NotContains(t, get(t, api+"/cameras/gate/objects"), "corner", "a preview left")
	if status, text := post("", note); status != 200 || !strings.HasPrefix(text, fmt.Sprintf(`{"sequence":%d,"masks_sequence":`, last.Sequence)) ||
		!strings.Contains(text, `"objects":[{"id":2,"label":"corner","state":"STATE_VISIBLE",`) || !strings.HasSuffix(text, "\"warnings\":[]}\n") {
		t.Errorf("annotating: %d %s", status, text)
	}
	// Frames to come are waited for, those beyond 10 s without the client.
	ahead := last.Sequence + 900
	if status, text := post("", strings.Replace(note, fmt.Sprintf(`"frame":%d`, last.Sequence), fmt.Sprintf(`"frame":%d`, ahead), 1)); status != 202 || !strings.HasPrefix(text, fmt.Sprintf(`{"sequence":%d,"masks_sequence":%[1]d,"pending":true,`, ahead)) {
		t.Errorf("annotating a frame far ahead: %d %s", status, text)
	}
	// One that is stroked away again is taken, with a warning, from each client.
	empty := fmt.Sprintf(`{"width":%d,"height":%d,"objects":[{"id":3,"polygon":[[40,4],[46,4],[46,8]]}],"background":[{"width":20,"points":[[38,6],[48,6]]}]}`, last.Width, last.Height)
	if status, text := post("", empty); status != 200 || !strings.Contains(text, `"area":0,`) || !strings.Contains(text, `"warnings":[{"id":3,"message":"it has no mask in frame `) {
		t.Errorf("an object without a mask: %d %s", status, text)
	}
	c := start(t, "annotate", "gate", clitest.File(t, "empty.json", empty), "--nats", "nats://"+natsAddr)
	if err := c.Wait(t); err != nil || !strings.Contains(c.Out.String(), "gate: annotation accepted, on frame ") ||
		!strings.Contains(c.Out.String(), "gate: warning: object 3: it has no mask in frame ") {
		t.Errorf("segd annotate says %q, %v", c.Out.String(), err)
	}
	waitfor.True(t, "an event of it", func() bool {
		return h.event("gate", segdv1.EventKind_EVENT_KIND_OBJECT_NOT_FOLLOWED).GetObjectId() == 3
	})
	assert.Contains(t, get(t, api+"/cameras/gate/objects"), "corner", "annotated, and the API lists")
	for body, want := range map[string][2]string{
		`{"width":1,"height":1,"objects":[{"id":0,"box":[0,0]}]}`: {"400", `"pointer":"/objects/0/id"`},
		strings.Replace(note, `"frame":`, `"frame":99999`, 1):     {"400", `"pointer":"/frame"`}, // far ahead
		`{"width":`: {"400", "line 1"},
	} {
		if status, text := post("", body); fmt.Sprint(status) != want[0] || !strings.Contains(text, want[1]) {
			t.Errorf("%s: %d %s; want %s", body, status, text, want)
		}
	}
	// A mask of another size is refused by its header, from each client.
	foreign := image.NewGray(image.Rect(0, 0, 9, 9))
	foreign.Pix[0] = 1
	var mask strings.Builder
	require.NoError(t, png.Encode(&mask, foreign))
	const refused = "mask PNG made for 9×9; the camera's frames are "
	resp, err := http.Post(api+"/cameras/gate/annotations", "image/png", strings.NewReader(mask.String()))
	require.NoError(t, err)
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusBadRequest || !strings.Contains(string(text), refused) {
		t.Errorf("a mask of another size: %s %s, %v", resp.Status, text, err)
	}
	c = start(t, "annotate", "gate", clitest.File(t, "foreign.png", mask.String()), "--nats", "nats://"+natsAddr)
	if err := c.Wait(t); err == nil || !strings.Contains(err.Error(), refused) {
		t.Errorf("segd annotate says %q, %v", c.Out.String(), err)
	}
	commands([][]string{{"clear gate", "0", "gate:allobjectsremoved"}, {"objects gate", "0", "gate:noobjects"}})
	waitfor.True(t, "the events of it all", func() bool {
		return h.event("gate", segdv1.EventKind_EVENT_KIND_OBJECT_RENAMED).GetObjectLabel() == "the one" &&
			h.event("gate", segdv1.EventKind_EVENT_KIND_OBJECT_REMOVED) != nil
	})
	assert.Contains(t, get(t, api+"/config"), `"addr":"`+httpAddr+`"`, "the configuration is")
	segd.Cancel()
	assert.NoError(t, segd.Wait(t))
}

// send sends JSON and returns the answer.
func send(t *testing.T, method, url, body string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(answer)
}
