// Package examples runs the subscribers of the repository's examples at servers with
// masks of every kind and beside one another at the demo.
package examples

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/internal/waitfor"
	"github.com/segd/segd/mask"
)

// folder has the subscribers.
const folder = "../../clients/examples/"

// line is what every subscriber prints of an object in a frame.
type line struct {
	camera   string
	sequence uint64
	label    string
	state    string
	area     int
	x, y     float64 // centre, in pixels; 0 without a mask
	extent   string  // such as "-3,4 12×30"; empty without one
}

var lineForm = regexp.MustCompile(`^(\S+) (\d+) (.*) (visible|occluded|lost) (\d+) px(?: around (\d+\.\d),(\d+\.\d))?(?: within (-?\d+,-?\d+ \d+×\d+))?$`)

func parseLine(text string) (line, error) {
	m := lineForm.FindStringSubmatch(text)
	if m == nil {
		return line{}, fmt.Errorf("it prints %q", text)
	}
	l := line{camera: m[1], label: m[3], state: m[4], extent: m[8]}
	var faults [4]error
	l.sequence, faults[0] = strconv.ParseUint(m[2], 10, 64)
	l.area, faults[1] = strconv.Atoi(m[5])
	if m[6] != "" {
		l.x, faults[2] = strconv.ParseFloat(m[6], 64)
		l.y, faults[3] = strconv.ParseFloat(m[7], 64)
	}
	return l, errors.Join(faults[:]...)
}

// same tells whether two lines differ by no more than how languages round to a
// tenth.
func (l line) same(other line) bool {
	near := math.Abs(l.x-other.x) < 0.051 && math.Abs(l.y-other.y) < 0.051
	l.x, l.y = other.x, other.y
	return near && l == other
}

// lineOf is what is to be printed of an object whose pixels are bits, row-major.
func lineOf(f *segdv1.MaskFrame, o *segdv1.Object, bits []uint8) line {
	l := line{camera: f.Camera, sequence: f.Sequence, label: o.Label,
		state: strings.ToLower(strings.TrimPrefix(o.State.String(), "STATE_"))}
	for i, b := range bits {
		if b != 0 {
			l.area++
			l.x += float64(i % int(f.Width))
			l.y += float64(i / int(f.Width))
		}
	}
	if l.area > 0 {
		l.x /= float64(l.area)
		l.y /= float64(l.area)
	}
	if e := o.Extent; e != nil {
		l.extent = fmt.Sprintf("%d,%d %d×%d", e.X, e.Y, e.Width, e.Height)
	}
	return l
}

// subscriber is a program that runs; lines is what it prints.
type subscriber struct{ lines chan line }

// subscribe runs a program until the test ends.
func subscribe(t *testing.T, dir, name string, args ...string) *subscriber {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = 10 * time.Second
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	s := &subscriber{lines: make(chan line, 4096)} // all that a test has it print
	read := make(chan error, 1)
	go func() { read <- s.read(stdout) }()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // may have ended, which shows in what it printed
		assert.NoError(t, <-read, "%s", name)
		_ = cmd.Wait() // killed
	})
	return s
}

func (s *subscriber) read(r io.Reader) error {
	defer close(s.lines)
	for scanner := bufio.NewScanner(r); scanner.Scan(); {
		l, err := parseLine(scanner.Text())
		if err != nil {
			return err
		}
		s.lines <- l
	}
	return nil
}

// next returns the next line it prints.
func (s *subscriber) next(t *testing.T) line {
	t.Helper()
	select {
	case l, ok := <-s.lines:
		if !ok {
			t.Fatal("it ended")
		}
		return l
	case <-time.After(waitfor.Limit):
		t.Fatalf("it prints nothing for %v", waitfor.Limit)
	}
	panic("unreachable")
}

// server is a Bus, and its URL with the name and password of a subscriber.
type server struct {
	*bus.Bus
	subscriber string
}

// openBus opens one that ends with the test.
func openBus(t *testing.T, json bool) server {
	t.Helper()
	user := bus.User{Name: "wall", Password: "0123456789abcdef", Role: bus.Subscriber}
	b, err := bus.Open(t.Context(), bus.Config{JSON: json, Embedded: bus.Embedded{Users: []bus.User{user}}})
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, b.Close())
	})
	return server{b, strings.Replace(b.URL(), "://", "://"+url.UserPassword(user.Name, user.Password).String()+"@", 1)}
}

// checkSubscriber runs a program, to whose arguments the server's URL is added,
// and a subscriber's user and password, against a server with masks of every kind, as protobuf and as JSON.
func checkSubscriber(t *testing.T, dir, name string, args ...string) {
	for _, json := range []bool{false, true} {
		t.Run(map[bool]string{false: "protobuf", true: "JSON"}[json], func(t *testing.T) {
			b := openBus(t, json)
			s := subscribe(t, dir, name, append(args, b.subscriber)...)
			greet(t, b.Bus, s)
			frames, want := madeFrames()
			for _, f := range frames {
				require.NoError(t, b.PublishMask(f))
			}
			for _, w := range want {
				got := s.next(t)
				for got.camera == "hello" {
					got = s.next(t)
				}
				if !got.same(w) {
					t.Errorf("it prints %+v, want %+v", got, w)
				}
			}
		})
	}
}

// greet publishes until the program prints: it subscribes some time after it
// starts, and until then there is no subscriber.
func greet(t *testing.T, b *bus.Bus, s *subscriber) {
	t.Helper()
	for end := time.Now().Add(waitfor.Limit); time.Now().Before(end); {
		err := b.PublishMask(&segdv1.MaskFrame{Camera: "hello", Width: 4, Height: 3,
			Objects: []*segdv1.Object{{Id: 1, Label: "x", State: segdv1.State_STATE_VISIBLE, Counts: "32112"}}})
		require.NoError(t, err)
		select {
		case got, ok := <-s.lines:
			if !ok {
				t.Fatal("it ended before it printed anything")
			}
			if got.camera != "hello" || got.area != 5 {
				t.Fatalf("it prints %+v", got)
			}
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Fatalf("it prints nothing for %v", waitfor.Limit)
}

// madeFrames are frames with masks of every kind, and the lines they stand for,
// which come from the pixels and not from the run lengths.
func madeFrames() (frames []*segdv1.MaskFrame, lines []line) {
	random := rand.New(rand.NewPCG(1, 2))
	noise := func(p float64) func(x, y int) bool {
		return func(int, int) bool { return random.Float64() < p }
	}
	for i, tt := range []struct {
		width, height int
		label         string
		in            func(x, y int) bool
	}{
		{4, 3, "nothing", func(int, int) bool { return false }},
		{4, 3, "all", func(int, int) bool { return true }},
		{7, 5, "first pixel", func(x, y int) bool { return x == 0 && y == 0 }},
		{7, 5, "last pixel", func(x, y int) bool { return x == 6 && y == 4 }},
		{90, 60, "wide", func(x, y int) bool { return x > 10 && y == 30 }},
		{90, 60, "high", func(x, y int) bool { return x == 10 && y > 30 }},
		{64, 48, "ring", func(x, y int) bool { d := (x-30)*(x-30) + (y-20)*(y-20); return d < 200 && d > 100 }},
		{33, 20, "noise", noise(0.5)},
		{33, 20, "specks", noise(0.02)},
		{1920, 1080, "one far pixel: long runs", func(x, y int) bool { return x == 1900 && y == 7 }},
	} {
		f := &segdv1.MaskFrame{Camera: "gate", Sequence: uint64(i) + 1<<33, Width: int32(tt.width), Height: int32(tt.height)}
		bits := make([]uint8, tt.width*tt.height)
		for j := range bits {
			if tt.in(j%tt.width, j/tt.width) {
				bits[j] = 1
			}
		}
		o := &segdv1.Object{Id: 1, Label: tt.label, State: segdv1.State(1 + i%3), Counts: mask.Encode(bits, tt.width, tt.height).String()}
		f.Objects = append(f.Objects, o)
		frames, lines = append(frames, f), append(lines, lineOf(f, o, bits))
		// Objects without a mask, as segd 0.1.0 sent what was at rest, cost this one nothing.
		for id, counts := range []string{"", "7", "o", "ooooooo", "00\x7f", "0000000000000", "o?N0"} {
			f.Objects = append(f.Objects, &segdv1.Object{Id: uint32(256 + id), Label: "faulty", State: segdv1.State_STATE_LOST, Counts: counts})
		}
		last := proto.Clone(o).(*segdv1.Object)
		last.Id, last.Label, last.Extent = 1000, "the last", &segdv1.Box{X: int32(i%3) - 1, Y: -2, Width: 3, Height: 4}
		f.Objects = append(f.Objects, last)
		lines = append(lines, lineOf(f, last, bits))
	}
	return frames, lines
}

func TestGo(t *testing.T) {
	checkSubscriber(t, ".", goSubscriber(t))
}

// goSubscriber builds the subscriber in Go and returns its path.
func goSubscriber(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "subscribe-go")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, "./subscribe-go")
	build.Dir = folder
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}
