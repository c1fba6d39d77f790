//go:build e2e

package examples

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/bustest"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/e2e/harness"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/mask"
)

// python is the interpreter that `make clients` gave the package and its modules.
func python(t *testing.T) string {
	t.Helper()
	path := filepath.Join(harness.Root(t), "bin", "clients", "bin", "python")
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v; make clients makes it", err)
	}
	return path
}

func TestPython(t *testing.T) {
	checkSubscriber(t, folder+"subscribe-python", python(t), "subscribe.py")
}

func TestJavaScript(t *testing.T) {
	checkSubscriber(t, folder+"subscribe-js", "node", "subscribe.mjs")
}

// packages are those for subscribers, and how to run one of their own tests.
var packages = []struct {
	name, folder, test string
	program            func(*testing.T) string
	args               []string
}{
	{"Python", "clients/python/tests", "test_%s", python, []string{"-m", "unittest", "-v"}},
	{"JavaScript", "clients/js", "test/%s.test.js", func(*testing.T) string { return "node" }, []string{"--test"}},
}

// testPackages runs the test of that name at a NATS server, of one package after the other.
func testPackages(t *testing.T, name, server string) {
	for _, p := range packages {
		t.Run(p.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), p.program(t), append(slices.Clone(p.args), fmt.Sprintf(p.test, name))...)
			cmd.Dir = filepath.Join(harness.Root(t), p.folder)
			cmd.Env = append(os.Environ(), "SEGD_CLIENT_NATS="+server)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func TestClients(t *testing.T) {
	demo := harness.Demo(t, "--by-hand", "--superpixels", "500")
	require.NoError(t, demo.Published(t.Context(), harness.DemoLimit))
	testPackages(t, "segd", demo.NATS)
}

// A user who may only subscribe is told so at once when they ask something.
func TestDenied(t *testing.T) {
	testPackages(t, "denied", openBus(t, false).subscriber)
}

// So is a user who may not subscribe to a camera.
func TestUnheard(t *testing.T) {
	server := harness.StartNATS(t, `authorization: {users: [{user: wall, password: sesame, permissions: {subscribe: {deny: "segd.v1.home.Gate.>"}}}]}`)
	testPackages(t, "unheard", strings.Replace(server.URL, "://", "://wall:sesame@", 1))
}

// coco is a mask as pycocotools is to see it.
type coco struct {
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Counts string `json:"counts"`
	Bits   string `json:"bits"`
	Area   int    `json:"area"`
	Box    [4]int `json:"box"`
}

// checkCoco has pycocotools decode masks, encode them again and measure them.
func checkCoco(t *testing.T, cases []coco) {
	t.Helper()
	in, err := json.Marshal(cases)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), python(t), "testdata/coco.py")
	cmd.Stdin = bytes.NewReader(in)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	if got, want := strings.TrimSpace(string(out)), fmt.Sprint(len(cases)); got != want {
		t.Errorf("pycocotools read %s masks of %s", got, want)
	}
}

// text is a bitmap, a character a pixel.
func text(bits []uint8) string {
	out := make([]byte, len(bits))
	for i, b := range bits {
		out[i] = '0' + b
	}
	return string(out)
}

// Masks as pycocotools sees them: decoded, encoded again, measured.
func TestPycocotools(t *testing.T) {
	var cases []coco
	random := rand.New(rand.NewPCG(3, 4))
	for _, size := range [][2]int{{1, 1}, {1, 70}, {70, 1}, {7, 5}, {64, 48}, {641, 359}} {
		for _, density := range []float64{0, 0.002, 0.1, 0.5, 0.9, 0.998, 1} {
			bits := make([]uint8, size[0]*size[1])
			for i := range bits {
				if random.Float64() < density {
					bits[i] = 1
				}
			}
			m := mask.Encode(bits, size[0], size[1])
			box := m.Box()
			cases = append(cases, coco{size[0], size[1], m.String(), text(bits), m.Area(),
				[4]int{box.Min.X, box.Min.Y, box.Dx(), box.Dy()}})
		}
	}
	checkCoco(t, cases)
}

// What the demo publishes as it comes, with whom its detector finds, is what segd.proto promises, in every state
// that an object is in; pycocotools reads the newest mask of each object in each state.
func TestPublished(t *testing.T) {
	type state struct {
		id uint32
		is segdv1.State
	}
	seen := map[state]coco{}
	published := listen(t, harness.Run(t, "superpixels: 300\nnats: {addr: '"+harness.FreeAddrs(t, 1)[0]+"'}\n"+
		"cameras: [{name: demo, loop: true, url: 'file:"+demo.FindClip()+"', detect: {classes: [person]}}]\n").NATS)
	for lost := 0; lost < 50; { // an object rests a second or two after it was lost
		f := next(t, published)
		require.NoError(t, bustest.Check(f))
		for _, o := range f.Objects {
			m, err := mask.Parse(o.Counts, int(f.Width), int(f.Height))
			require.NoError(t, err)
			seen[state{o.Id, o.State}] = coco{int(f.Width), int(f.Height), o.Counts, text(m.Decode(nil)), int(o.Area),
				[4]int{int(o.Box.GetX()), int(o.Box.GetY()), int(o.Box.GetWidth()), int(o.Box.GetHeight())}}
			if o.State == segdv1.State_STATE_LOST {
				lost++
			}
		}
	}
	checkCoco(t, slices.Collect(maps.Values(seen)))
}

// The subscribers beside one another at the demo: each prints every object of
// every frame from its first one on, as the masks on the bus have it.
func TestDemo(t *testing.T) {
	const frames = 12
	url := harness.Demo(t, "--by-hand", "--superpixels", "500").NATS
	for name, run := range map[string]func(*testing.T) *subscriber{
		"Go": func(t *testing.T) *subscriber { return subscribe(t, ".", goSubscriber(t), url) },
		"Python": func(t *testing.T) *subscriber {
			return subscribe(t, folder+"subscribe-python", python(t), "subscribe.py", url)
		},
		"JavaScript": func(t *testing.T) *subscriber {
			return subscribe(t, folder+"subscribe-js", "node", "subscribe.mjs", url)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			published := listen(t, url)
			s := run(t)
			got := s.next(t)
			f := next(t, published)
			for f.Sequence < got.sequence {
				f = next(t, published)
			}
			for range frames {
				for _, o := range f.Objects {
					m, err := mask.Parse(o.Counts, int(f.Width), int(f.Height))
					require.NoError(t, err)
					if want := lineOf(f, o, m.Decode(nil)); !got.same(want) || got.area != int(o.Area) {
						t.Errorf("it prints %+v, want %+v with an area of %d", got, want, o.Area)
					}
					got = s.next(t)
				}
				f = next(t, published)
			}
		})
	}
}

// listen returns the demo's masks as they are published.
func listen(t *testing.T, url string) <-chan *segdv1.MaskFrame {
	t.Helper()
	masks := make(chan *segdv1.MaskFrame, 4096) // all of a test's
	ready := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	t.Cleanup(func() { cancel(); watching.Wait() })
	watching.Go(func() {
		for ctx.Err() == nil { // until the server is there
			_ = bus.Watch(ctx, url, "demo", bus.Handlers{
				Ready: func() { close(ready) },
				Mask:  func(f *segdv1.MaskFrame) { masks <- f },
				Bad:   func(subject string, err error) { t.Errorf("%s: %v", subject, err) },
			})
			time.Sleep(50 * time.Millisecond)
		}
	})
	select {
	case <-ready:
		return masks
	case <-time.After(time.Minute):
		t.Fatalf("no NATS server at %s", url)
	}
	return nil
}

func next(t *testing.T, masks <-chan *segdv1.MaskFrame) *segdv1.MaskFrame {
	t.Helper()
	select {
	case f := <-masks:
		return f
	case <-time.After(time.Minute):
		t.Fatal("no masks for a minute")
	}
	return nil
}
