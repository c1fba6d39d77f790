package backup

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/internal/memtest"
	"github.com/segd/segd/pipeline/checkpoint"
)

func sample() *Backup {
	return &Backup{
		Site: "home", Created: time.Date(2026, 11, 24, 4, 0, 0, 0, time.UTC), Key: []byte("12345678\n"),
		Cameras: map[string]Camera{
			"gate": {Checkpoint: bytes.Repeat([]byte("c"), 5000), Short: []byte("s")},
			"yard": {Settings: []byte(`{"version":1}`), Checkpoint: []byte("y")},
			"new":  {Settings: []byte("n")},
		},
	}
}

func written(t testing.TB, b *Backup) []byte {
	t.Helper()
	var to bytes.Buffer
	require.NoError(t, Write(&to, b))
	return to.Bytes()
}

func TestBackup(t *testing.T) {
	for _, want := range []*Backup{sample(), {Site: "yard", Created: time.Unix(0, 0).UTC(), Cameras: map[string]Camera{}}} {
		got, err := Read(bytes.NewReader(written(t, want)))
		require.NoError(t, err)
		assert.Empty(t, cmp.Diff(want, got), "(-want +got)")
	}
}

// What is written as a checkpoint is kept, and read again.
func TestMaxCheckpoint(t *testing.T) {
	if bus.MaxCheckpoint != checkpoint.MaxBytes {
		t.Errorf("bus keeps %d bytes, and checkpoints have %d", bus.MaxCheckpoint, checkpoint.MaxBytes)
	}
}

// mostTaken is what it may take to read a file of so many bytes: what it has, and what is set aside on the way to that,
// as of a file that grows.
func mostTaken(size int) uint64 { return uint64(1<<20 + 8*size) }

// What is small in a file and large in memory is refused before it is large.
func TestBombs(t *testing.T) {
	for name, tt := range map[string]struct{ manifest, want string }{
		"files":           {`{"version": 1, "site": "home", "files": [` + strings.Repeat("{},", 300_000) + `{}]}`, "files; accepted: at most 3001"},
		"a deep manifest": {strings.Repeat("[", 1_000_000), "exceeded max depth"},
		"files in files":  {`{"version": 1, "site": "home", "files": [{"name": [` + strings.Repeat("{},", 300_000) + `{}]}]}`, "cannot unmarshal"},
		"much else":       {`{"version": 1, "site": "home", "more": [` + strings.Repeat("{},", 300_000) + `{}]}`, ""},
	} {
		data := tarOf(t, entry{manifestName, tt.manifest, tar.TypeReg})
		var err error
		n := memtest.Allocated(func() { _, err = Read(bytes.NewReader(data)) })
		if tt.want != "" && (!errors.Is(err, ErrBad) || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %.200v; want %q", name, err, tt.want)
		}
		if most := mostTaken(len(data)); n > most {
			t.Errorf("%s: %d kB took %d kB of memory; want at most %d", name, len(data)>>10, n>>10, most>>10)
		}
	}
}

// entry is one of a tar.
type entry struct {
	name, content string
	kind          byte
}

func tarOf(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var to bytes.Buffer
	w := tar.NewWriter(&to)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Typeflag: e.kind, Mode: 0o600}
		if e.kind == tar.TypeReg {
			h.Size = int64(len(e.content))
		} else {
			h.Linkname = e.content
		}
		require.NoError(t, w.WriteHeader(h))
		_, err := io.WriteString(w, e.content[:h.Size])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return to.Bytes()
}

// manifestOf names files of that size whose sum is none.
func manifestOf(version int, size int64, names ...string) entry {
	m := manifest{Version: version, Site: "home"}
	for _, name := range names {
		m.Files = append(m.Files, file{Name: name, Size: size})
	}
	text, _ := json.Marshal(m)
	return entry{manifestName, string(text), tar.TypeReg}
}

// What is wrong is said, and nothing of it is taken.
func TestBadBackup(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 5 s: a backup cut after each of its bytes")
	}
	good := written(t, sample())
	flipped := bytes.Clone(good)
	flipped[bytes.Index(flipped, []byte("cccc"))+100] ^= 1
	reg := func(name, content string) entry { return entry{name, content, tar.TypeReg} }
	for name, tt := range map[string]struct {
		data []byte
		want string
	}{
		"empty":                  {nil, "it ends before manifest.json"},
		"garbage":                {bytes.Repeat([]byte("garbage "), 1000), "before manifest.json"},
		"truncated":              {good[:len(good)/2], "unexpected EOF"},
		"between files":          {good[:1024*2], "cameras/"},
		"damaged":                {flipped, `"cameras/gate/checkpoint" is not what manifest.json says`},
		"another tar":            {tarOf(t, reg("etc/passwd", "x")), `"etc/passwd" where a file manifest.json should be`},
		"no JSON":                {tarOf(t, reg(manifestName, "{")), "manifest.json: unexpected end"},
		"another version":        {tarOf(t, manifestOf(2, 1)), "version 2; accepted: version 1"},
		"no site":                {tarOf(t, reg(manifestName, `{"version": 1}`)), "site"},
		"out of its folder":      {tarOf(t, manifestOf(1, 1, "../../etc/passwd"), reg("../../etc/passwd", "x")), `"../../etc/passwd"; accepted`},
		"out of a camera's":      {tarOf(t, manifestOf(1, 1, "cameras/../key"), reg("cameras/../key", "x")), "bad name"},
		"a camera without name":  {tarOf(t, manifestOf(1, 1, "cameras//short"), reg("cameras//short", "x")), "accepted"},
		"one that is not named":  {tarOf(t, manifestOf(1, 1), reg("more", "x")), `"more" is not in`},
		"another than named":     {tarOf(t, manifestOf(1, 1, "cameras/a/short"), reg("cameras/b/short", "x")), `"cameras/b/short" where a file cameras/a/short should be`},
		"a link":                 {tarOf(t, manifestOf(1, 1, "cameras/a/short"), entry{"cameras/a/short", "/etc/passwd", tar.TypeSymlink}), "where a file"},
		"twice":                  {tarOf(t, manifestOf(1, 0, "cameras/a/short", "cameras/a/short"), reg("cameras/a/short", "")), "not what"},
		"huge":                   {tarOf(t, manifestOf(1, 1<<40, "cameras/a/short")), "accepted: at most"},
		"huge settings":          {tarOf(t, manifestOf(1, maxSettings+1, "cameras/a/settings")), "accepted: at most 1048576"},
		"negative":               {tarOf(t, manifestOf(1, -1, "cameras/a/short")), "-1 bytes"},
		"larger than it says":    {tarOf(t, manifestOf(1, 1, "cameras/a/short"), reg("cameras/a/short", "xx")), "has 2 bytes; accepted: at most 1"},
		"a huge manifest":        {tarOf(t, reg(manifestName, strings.Repeat(" ", maxManifest+1))), "accepted: at most"},
		"more files than it may": {tarOf(t, manifestOf(1, 0, make([]string, 3*maxCameras+2)...)), "accepted: at most 3001"},
	} {
		b, err := Read(bytes.NewReader(tt.data))
		if b != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", name, err, tt.want)
		}
		if is := errors.Is(err, ErrBad); is == (name == "another version") {
			t.Errorf("%s: ErrBad: %v", name, is)
		}
	}
	for n := range bytes.LastIndex(good, sample().Key) + len(sample().Key) { // what follows is a tar's padding
		_, err := Read(bytes.NewReader(good[:n]))
		require.Error(t, err, "the first %d of %d bytes are a backup", n, len(good))
	}
}

func FuzzRead(f *testing.F) {
	f.Add(written(f, sample()))
	f.Add(tarOf(f, manifestOf(1, 1, "cameras/a/short"), entry{"cameras/a/short", "x", tar.TypeReg}))
	f.Add(tarOf(f, manifestOf(1, -1, "key")))
	f.Fuzz(func(t *testing.T, data []byte) {
		var b *Backup
		var err error
		if n := memtest.Allocated(func() { b, err = Read(bytes.NewReader(data)) }); n > mostTaken(len(data)) {
			t.Fatalf("%d bytes took %d of memory; want at most %d", len(data), n, mostTaken(len(data)))
		}
		if err != nil {
			return
		}
		again, err := Read(bytes.NewReader(written(t, b)))
		require.NoError(t, err)
		assert.Empty(t, cmp.Diff(b, again), "(-first +second)")
	})
}
