package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/client/clienttest"
	"github.com/segd/segd/internal/waitfor"
)

// wait among the messages of a page has it wait until the test goes on.
const wait = "wait"

// livePage is a page that sends each connection the messages of one of lives, one after the other as they are taken, and closes
// it; after the last it knows no camera.
func livePage(t *testing.T, goOn <-chan struct{}, lives ...[]string) *httptest.Server {
	t.Helper()
	var connections atomic.Int64
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(connections.Add(1))
		if n > len(lives) {
			http.NotFound(w, r)
			return
		}
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		for _, message := range lives[n-1] {
			if message == wait {
				<-goOn
			} else if strings.HasPrefix(message, "{") {
				err = conn.Write(r.Context(), websocket.MessageText, []byte(message))
			} else if err = conn.Write(r.Context(), websocket.MessageBinary, []byte(message)); err == nil {
				_, _, err = conn.Read(r.Context()) // that it was taken
			}
			assert.NoError(t, err)
		}
		_ = conn.Close(websocket.StatusGoingAway, "segd is stopping")
	}))
	t.Cleanup(page.Close)
	return page
}

// message is a frame of gate as the page sends it, ten of them a second.
func message(t *testing.T, epoch, sequence uint64) string {
	t.Helper()
	m, picture := clienttest.LiveFrame(t, sequence, 64, 48)
	m.Site, m.Epoch, m.Objects[0].Area = "home", epoch, 32*48
	text, err := protojson.Marshal(m)
	require.NoError(t, err)
	return string(clienttest.Live(`{"frame":`+string(text)+`}`, string(picture)))
}

func eventMessage(t *testing.T, e *segdv1.Event) string {
	t.Helper()
	e.Site, e.Camera = "home", "gate"
	text, err := protojson.Marshal(e)
	require.NoError(t, err)
	return `{"event":` + string(text) + `}`
}

// Pictures are kept over a restart of segd, and as many as are asked for.
func TestRecord(t *testing.T) {
	var first, second []string
	for seq := range uint64(25) {
		first = append(first, message(t, 1, seq))
		second = append(second, message(t, 2, 1000+seq))
	}
	page := livePage(t, nil, first, second)
	dir := t.TempDir()
	c := start(t, "record", "gate", dir, "--page", page.URL, "--every", "1s")
	waitfor.True(t, "the second connection's end", func() bool { return strings.Count(c.Err.String(), "trying again") == 2 })
	c.Cancel()
	assert.NoError(t, c.Wait(t), "record ended with")
	var want []string
	for _, name := range []string{"gate-0000000000001-000000000", "gate-0000000000001-000000010", "gate-0000000000001-000000020",
		"gate-0000000000002-000001000", "gate-0000000000002-000001010", "gate-0000000000002-000001020"} {
		want = append(want, name+".jpg", name+".json")
	}
	assert.Equal(t, want, clienttest.FilesIn(t, dir), "files written")
	said := strings.Split(strings.TrimSpace(c.Err.String()), "\n")
	if len(said) != 3 || !strings.Contains(said[0], "segd is stopping") || said[1] != "pictures again, from frame 1000 on" {
		t.Errorf("it said:\n%s", c.Err.String())
	}
	if n := strings.Count(c.Out.String(), "\n"); n != 6 {
		t.Errorf("%d lines of 6 pictures:\n%s", n, c.Out.String())
	}
}

// What happens is kept, and a clip of it.
func TestRecordChanged(t *testing.T) {
	var messages []string
	for seq := range uint64(30) {
		switch seq {
		case 12:
			messages = append(messages, `{"status":{}}`, eventMessage(t, &segdv1.Event{Kind: segdv1.EventKind_EVENT_KIND_OBJECT_LOST, Epoch: 1, Sequence: 12, ObjectId: 1}))
		case 20:
			messages = append(messages, eventMessage(t, &segdv1.Event{Kind: segdv1.EventKind_EVENT_KIND_CAMERA_UP, Epoch: 1}))
		}
		messages = append(messages, message(t, 1, seq))
	}
	for _, tc := range []struct {
		args []string
		want []string
	}{
		{[]string{"--when", "changed"}, []string{"gate-0000000000001-000000012.jpg", "gate-0000000000001-000000012.json"}},
		{[]string{"--when", "corrected"}, nil},
		{[]string{"--clips", "beside"}, []string{"gate-0000000000001-000000000.jsonl", "gate-0000000000001-000000000.mp4"}},
	} {
		dir := t.TempDir()
		c := start(t, append([]string{"record", "gate", dir, "--page", livePage(t, nil, messages).URL}, tc.args...)...)
		waitfor.True(t, "the connection's end", func() bool { return strings.Contains(c.Err.String(), "trying again") })
		c.Cancel()
		assert.NoError(t, c.Wait(t), "%q ended with", tc.args)
		assert.Equal(t, tc.want, clienttest.FilesIn(t, dir), "%q wrote", tc.args)
	}
}

func TestRecordFullDisk(t *testing.T) {
	goOn := make(chan struct{})
	page := livePage(t, goOn, []string{message(t, 1, 0), wait, message(t, 1, 1), message(t, 1, 2)})
	dir := t.TempDir()
	c := start(t, "record", "gate", dir, "--page", page.URL, "--every", "0")
	waitfor.True(t, "the first frame", func() bool { return strings.Contains(c.Out.String(), "frame 0") })
	clienttest.FullDisk(t, filepath.Join(dir, "gate-0000000000001-000000001.part"))
	close(goOn)
	waitfor.True(t, "the connection's end", func() bool { return strings.Contains(c.Err.String(), "trying again") })
	c.Cancel()
	assert.ErrorContains(t, c.Wait(t), "2 frames saved, 1 not", "record ended with")
	for _, want := range []string{"frame 1 is not saved", "no space left on device", "saved again from frame 2 on, 1 were not"} {
		assert.Contains(t, c.Err.String(), want, "it did not say %s", want)
	}
	if got := clienttest.FilesIn(t, dir); len(got) != 4 {
		t.Errorf("files written: %q", got)
	}
}

// As many pictures are asked for as it takes to keep one when it is time, and all where any may be one to keep.
func TestRecordAsks(t *testing.T) {
	for line, want := range map[string]string{
		"": "window=2&fps=2", "--every 1s": "window=2&fps=10", "--every 1m": "window=2&fps=1", "--every 100ms": "window=2",
		"--when unsure": "window=2", "--when changed": "window=2", "--clips drawn": "window=2",
	} {
		asked := make(chan string, 1)
		page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked <- r.URL.RawQuery
			http.NotFound(w, r)
		}))
		c := start(t, append([]string{"record", "gate", t.TempDir(), "--page", page.URL}, strings.Fields(line)...)...)
		assert.Equal(t, want, waitfor.Next(t, "the request", asked), "%q asks for", line)
		if err := c.Wait(t); cli.Status(err) != cli.ExitUsage {
			t.Errorf("%q: %v", line, err)
		}
		page.Close()
	}
}

// What is wrong with a command line ends it at once.
func TestRecordFaults(t *testing.T) {
	page := livePage(t, nil)
	for line, want := range map[string]string{
		"--page " + page.URL: "has no camera",
		"--when often":       `--when "often"; accepted: changed, unsure, corrected`,
		"--every=-1s":        "--every -1s; accepted: 0 or more",
		"--unsure 70":        "--unsure 70; accepted: 0 to 1",
		"--max-bytes 1000":   "--max-bytes 1000; accepted: 1048576 or more",
		"--clips yes":        `--clips "yes"; accepted: drawn, beside`,
		"--page 127.0.0.1:1": "accepted: such as http://127.0.0.1:8080",
	} {
		c := start(t, append([]string{"record", "gate", t.TempDir()}, strings.Fields(line)...)...)
		if err := c.Wait(t); err == nil || !strings.Contains(err.Error(), want) || cli.Status(err) != cli.ExitUsage {
			t.Errorf("%s: %v; want %s", line, err, want)
		}
	}
	c := start(t, "record", "gate", clitest.File(t, "file", ""), "--page", page.URL)
	assert.ErrorContains(t, c.Wait(t), "not a directory", "of a file for a folder")
}

// exported is a recording of gate with three frames, and its export as CVAT's.
func exported(t *testing.T) (recording, file string) {
	t.Helper()
	recording = filepath.Join(t.TempDir(), "recording")
	page := livePage(t, nil, []string{message(t, 7, 0), message(t, 7, 1), message(t, 7, 2)})
	c := start(t, "record", "gate", recording, "--page", page.URL, "--every", "0")
	waitfor.True(t, "the connection's end", func() bool { return strings.Contains(c.Err.String(), "trying again") })
	c.Cancel()
	require.NoError(t, c.Wait(t))
	c = start(t, "export", recording, "--format", "cvat")
	require.NoError(t, c.Wait(t))
	assert.Equal(t, recording+"-cvat: 3 pictures, 3 objects of 1 classes\n", c.Out.String(), "it said")
	return recording, filepath.Join(recording+"-cvat", "annotations.xml")
}

func TestExportFaults(t *testing.T) {
	for line, want := range map[string]string{
		"":                              `required flag(s) "format" not set`,
		"--format coco --split 80,30":   `--split "80,30"; accepted: up to three whole numbers that come to 100`,
		"--format coco --split 1,x":     "accepted: up to three",
		"--format coco --split 110,-10": "accepted: up to three",
		"--format coco":                 "has no picture with masks",
	} {
		c := start(t, append([]string{"export", t.TempDir()}, strings.Fields(line)...)...)
		assert.ErrorContains(t, c.Wait(t), want, "%s", line)
	}
}

// Saved for the configuration: the newest picture, with it, of the camera that is named.
func TestImportSaves(t *testing.T) {
	recording, file := exported(t)
	save := filepath.Join(t.TempDir(), "gate.json")
	before := clitest.File(t, "before.json", "before")
	require.NoError(t, os.Link(before, save))
	c := start(t, "import", "gate", file, "--save", save, "--pictures", recording)
	require.NoError(t, c.Wait(t))
	assert.Equal(t, "gate: 1 objects of picture gate-0000000000007-000000002.jpg in "+save+"\n", c.Out.String(), "it said")
	text, err := os.ReadFile(save)
	if err != nil || !strings.Contains(string(text), `"picture":"/9j/`) || !strings.Contains(string(text), `"polygon":[[0,0],[32,0],[32,48],[0,48],[0,0]]`) {
		t.Errorf("%.300s, %v", text, err)
	}
	if text, err := os.ReadFile(before); err != nil || string(text) != "before" {
		t.Errorf("%.20q, %v; want the file that was there replaced, not written over", text, err)
	}
	for _, tc := range []struct{ line, want string }{
		{"yard " + file, "annotations.xml: its pictures are of camera gate; accepted: those of yard"},
		{"gate " + file + " --picture x.jpg", "nothing is marked on a picture x.jpg"},
		{"gate " + file + " --save " + save, "--save and --pictures go together"},
		{"gate " + file + " --save x.json --pictures " + t.TempDir(), "no such file"},
		{"gate " + filepath.Join(recording, "nothing.xml"), "no such file"},
		{"gate " + clitest.File(t, "a.xml", `<annotations><image id="0" name="holiday.jpg" width="4" height="4"/></annotations>`), `it has pictures such as "holiday.jpg"; accepted: those of segd record, such as gate-1795294724651-000001234.jpg`},
		{"gate " + clitest.File(t, "b.xml", `<rss/>`), "nothing is marked on any picture in it"},
	} {
		c := start(t, append([]string{"import"}, strings.Fields(tc.line)...)...)
		if err := c.Wait(t); err == nil || !strings.Contains(err.Error(), tc.want) || cli.Status(err) != cli.ExitUsage {
			t.Errorf("%s: %v; want %s", tc.line, err, tc.want)
		}
	}
}

// Sent to the segd that took the picture, with the objects' own numbers; another one is not asked.
func TestImportSends(t *testing.T) {
	_, file := exported(t)
	s, nc := clienttest.OpenNATS(t)
	epoch := atomic.Uint64{}
	epoch.Store(8)
	asked := make(chan string, 1)
	answer := func(kind string, m func() proto.Message) {
		t.Helper()
		_, err := nc.Subscribe("segd.v1.home.gate."+kind, func(msg *nats.Msg) {
			if kind == "annotate" {
				asked <- string(msg.Data)
			}
			data, err := proto.Marshal(m())
			assert.NoError(t, err)
			_ = msg.Respond(data)
		})
		require.NoError(t, err)
	}
	answer("state", func() proto.Message { return &segdv1.Status{Site: "home", Camera: "gate", Epoch: epoch.Load()} })
	answer("objects", func() proto.Message {
		return &segdv1.ObjectList{Site: "home", Camera: "gate", Objects: []*segdv1.Object{{Id: 1, Label: "person"}}}
	})
	answer("annotate", func() proto.Message { return &segdv1.Annotated{Site: "home", Camera: "gate", Sequence: 2} })
	require.NoError(t, nc.Flush())
	send := func() (string, error) {
		c := start(t, "import", "gate", file, "--nats", s.ClientURL(), "--site", "home")
		err := c.Wait(t)
		return c.Out.String(), err
	}
	if _, err := send(); err == nil || !strings.Contains(err.Error(), "is from before segd last began with the camera, and no longer kept; --save writes it for the configuration") || len(asked) > 0 {
		t.Errorf("of a picture from before: %v", err)
	}
	epoch.Store(7)
	out, err := send()
	if err != nil || out != "gate: annotation accepted, on frame 2\n" {
		t.Errorf("%q, %v", out, err)
	}
	if got, want := waitfor.Next(t, "the annotation", asked), fmt.Sprintf(`{"frame":2,"width":64,"height":48,"objects":[{"id":1,"label":"","polygon":%s}]}`, "[[0,0],[32,0],[32,48],[0,48],[0,0]]"); got != want {
		t.Errorf("it sent %s; want %s", got, want)
	}
}
