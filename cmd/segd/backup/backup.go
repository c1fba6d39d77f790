// Package backup reads and writes the files of `segd backup`: a tar whose first entry, manifest.json, names the
// others with their sizes and SHA-256. There are cameras/NAME/settings, as the store has them, encrypted;
// cameras/NAME/checkpoint and cameras/NAME/short; and key. Read takes nothing that the manifest does not name, and
// writes no file.
package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/pipeline/checkpoint"
)

// Version is that of the files that Write makes, and the only one that Read takes.
const Version = 1

const (
	manifestName = "manifest.json"
	keyName      = "key"

	maxManifest = 1 << 20
	maxSettings = 1 << 20
	maxKey      = 4 << 10
	maxCameras  = 1000
	maxFiles    = 3*maxCameras + 1
	// maxBytes bounds all of a file: it is what a store of checkpoints takes, and settings.
	maxBytes = 288 << 20
)

// ErrBad is wrapped by Read's error of what is no backup, or a damaged one.
var ErrBad = errors.New("not a whole backup")

// Backup is what a file has.
type Backup struct {
	Site    string
	Created time.Time
	Cameras map[string]Camera
	// Key is the text of the file with the key of the cameras' settings; nil: it is not in the backup.
	Key []byte
}

// Camera is what there is of one; what is nil is not there.
type Camera struct {
	Settings   []byte // of a camera that was added, encrypted
	Checkpoint []byte
	Short      []byte
}

type manifest struct {
	Version int       `json:"version"`
	Site    string    `json:"site"`
	Created time.Time `json:"created"`
	Files   files     `json:"files"`
}

type files []file

// UnmarshalJSON reads as many as there may be: an empty one takes three bytes of JSON, and forty of memory.
func (f *files) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	switch token, err := dec.Token(); {
	case err != nil || token == nil: // null is none
		return err
	case token != json.Delim('['):
		return errors.New("files: want a list")
	}
	for dec.More() {
		if len(*f) == maxFiles {
			return fmt.Errorf("too many files; accepted: at most %d", maxFiles)
		}
		var one file
		if err := dec.Decode(&one); err != nil {
			return err
		}
		*f = append(*f, one)
	}
	return nil
}

type file struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// part is a file of a backup, and where its content is.
type part struct {
	name    string
	content *[]byte
	most    int64
}

func parts(name string, c *Camera) []part {
	return []part{
		{"cameras/" + name + "/settings", &c.Settings, maxSettings},
		{"cameras/" + name + "/checkpoint", &c.Checkpoint, checkpoint.MaxBytes},
		{"cameras/" + name + "/short", &c.Short, checkpoint.MaxBytes},
	}
}

// Write writes b.
func Write(w io.Writer, b *Backup) error {
	m := manifest{Version: Version, Site: b.Site, Created: b.Created.UTC()}
	var contents [][]byte
	add := func(name string, content []byte) {
		if content != nil {
			sum := sha256.Sum256(content)
			m.Files = append(m.Files, file{name, int64(len(content)), hex.EncodeToString(sum[:])})
			contents = append(contents, content)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Cameras)) {
		c := b.Cameras[name]
		for _, p := range parts(name, &c) {
			add(p.name, *p.content)
		}
	}
	add(keyName, b.Key)
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	to := tar.NewWriter(w)
	put := func(name string, content []byte) {
		if err == nil {
			err = to.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: 0o600, ModTime: m.Created.Truncate(time.Second)})
		}
		if err == nil {
			_, err = to.Write(content)
		}
	}
	put(manifestName, text)
	for i, f := range m.Files {
		put(f.Name, contents[i])
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return fmt.Errorf("backup: %w", err)
	}
	return nil
}

func bad(format string, args ...any) error {
	return fmt.Errorf("backup: %w: %w", ErrBad, fmt.Errorf(format, args...))
}

// Read reads what Write has written, all of it or an error.
func Read(r io.Reader) (*Backup, error) {
	from := tar.NewReader(r)
	text, err := next(from, manifestName, maxManifest)
	if err != nil {
		return nil, err
	}
	var version struct{ Version int }
	if err := json.Unmarshal(text, &version); err != nil {
		return nil, bad("%s: %w", manifestName, err)
	}
	if version.Version != Version {
		return nil, fmt.Errorf("backup: it is of version %d; accepted: version %d, that of this segd", version.Version, Version)
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, bad("%s: %w", manifestName, err)
	}
	b := &Backup{Site: m.Site, Created: m.Created, Cameras: map[string]Camera{}}
	if err := bus.CheckName(m.Site); err != nil {
		return nil, bad("%s: site: %w", manifestName, err)
	}
	seen, total := map[string]bool{}, int64(0)
	for _, f := range m.Files {
		if seen[f.Name] {
			return nil, bad("%s: %q is there twice", manifestName, f.Name)
		}
		seen[f.Name] = true
		if total += f.Size; f.Size < 0 || total > maxBytes {
			return nil, bad("%s: %q has %d bytes; accepted: at most %d in all", manifestName, f.Name, f.Size, maxBytes)
		}
		if err := b.take(from, f); err != nil {
			return nil, err
		}
	}
	if h, err := from.Next(); err == nil {
		return nil, bad("%q is not in %s", h.Name, manifestName)
	} else if !errors.Is(err, io.EOF) {
		return nil, bad("after the last file: %w", err)
	}
	return b, nil
}

// take reads the file that comes next, which has to be f.
func (b *Backup) take(from *tar.Reader, f file) error {
	name := cameraOf(f.Name)
	c := b.Cameras[name]
	all := []part{{keyName, &b.Key, maxKey}}
	if name != "" {
		if err := bus.CheckName(name); err != nil {
			return bad("%s: %q: %w", manifestName, f.Name, err)
		}
		all = parts(name, &c)
	}
	i := slices.IndexFunc(all, func(p part) bool { return p.name == f.Name })
	if i < 0 {
		return bad("%s: %q; accepted: cameras/NAME/settings, checkpoint and short, and key", manifestName, f.Name)
	}
	p := all[i]
	if f.Size > p.most {
		return bad("%s: %q has %d bytes; accepted: at most %d", manifestName, f.Name, f.Size, p.most)
	}
	content, err := next(from, f.Name, f.Size)
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(content); int64(len(content)) != f.Size || hex.EncodeToString(sum[:]) != f.SHA256 {
		return bad("%q is not what %s says: damaged", f.Name, manifestName)
	}
	*p.content = content
	if name != "" {
		b.Cameras[name] = c
	}
	return nil
}

// cameraOf is the camera whose file has that name; "": none's.
func cameraOf(name string) string {
	parts := strings.Split(name, "/")
	if len(parts) != 3 || parts[0] != "cameras" {
		return ""
	}
	return parts[1]
}

// next reads the next entry, which has to be a file of that name and have at most so many bytes.
func next(from *tar.Reader, name string, most int64) ([]byte, error) {
	h, err := from.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, bad("it ends before %s", name)
	case err != nil:
		return nil, bad("before %s: %w", name, err)
	case h.Name != name || h.Typeflag != tar.TypeReg:
		return nil, bad("%q where a file %s should be", h.Name, name)
	case h.Size > most:
		return nil, bad("%s has %d bytes; accepted: at most %d", name, h.Size, most)
	}
	content, err := io.ReadAll(io.LimitReader(from, most+1))
	if err != nil {
		return nil, bad("%s: %w", name, err)
	}
	return content, nil
}
