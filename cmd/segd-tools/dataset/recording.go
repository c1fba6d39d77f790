package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/record"
)

// What the files of a frame, or of a clip that begins with it, end with. A part becomes the masks once it is
// whole, and what has masks is whole.
const (
	extPicture   = ".jpg"
	extMasks     = ".json"
	extPart      = ".part"
	extClip      = ".mp4"
	extClipMasks = ".jsonl"
)

var extensions = []string{extPicture, extMasks, extPart, extClip, extClipMasks}

// name is what the files of a frame are called.
type name struct {
	camera          string
	epoch, sequence uint64
}

func nameOf(m *segdv1.MaskFrame) name { return name{m.GetCamera(), m.GetEpoch(), m.GetSequence()} }

func (n name) String() string { return fmt.Sprintf("%s-%013d-%09d", n.camera, n.epoch, n.sequence) }

func (n name) compare(o name) int {
	return cmp.Or(cmp.Compare(n.camera, o.camera), cmp.Compare(n.epoch, o.epoch), cmp.Compare(n.sequence, o.sequence))
}

var namePattern = regexp.MustCompile(`^([A-Za-z0-9_-]+)-([0-9]{13,20})-([0-9]{9,20})$`)

// parseName takes a file's name apart; ok tells whether it is one of a recording.
func parseName(file string) (n name, ext string, ok bool) {
	ext = path.Ext(file)
	parts := namePattern.FindStringSubmatch(strings.TrimSuffix(file, ext))
	if parts == nil {
		return n, ext, false
	}
	epoch, err := strconv.ParseUint(parts[2], 10, 64)
	sequence, err2 := strconv.ParseUint(parts[3], 10, 64)
	return name{parts[1], epoch, sequence}, ext, err == nil && err2 == nil
}

// Recording is a folder that has one camera's pictures and clips, perhaps among other files.
type Recording struct {
	dir    *os.Root
	camera string
	most   int64 // bytes of all files of the camera
	total  int64
	kept   []kept // oldest first
}

type kept struct {
	name name
	size int64
}

// OpenRecording makes the folder or goes on with it, and removes what was cut short there. The camera's files
// in it may have most bytes.
func OpenRecording(folder, camera string, most int64) (*Recording, error) {
	dir, err := record.OpenFolder(folder)
	if err != nil {
		return nil, err
	}
	r := &Recording{dir: dir, camera: camera, most: most}
	if err := r.scan(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", folder, err), dir.Close())
	}
	return r, nil
}

func (r *Recording) scan() error {
	files, err := fs.ReadDir(r.dir.FS(), ".")
	if err != nil {
		return err
	}
	sizes, whole := map[name]int64{}, map[name]bool{}
	for _, f := range files {
		n, ext, ok := parseName(f.Name())
		info, err := f.Info()
		if !ok || n.camera != r.camera || !slices.Contains(extensions, ext) || err != nil {
			continue
		}
		sizes[n] += info.Size()
		whole[n] = whole[n] || ext == extMasks || ext == extClip
	}
	for n, size := range sizes {
		if !whole[n] {
			_ = r.remove(n) // what stays is tried again the next time
			continue
		}
		r.kept = append(r.kept, kept{n, size})
		r.total += size
	}
	slices.SortFunc(r.kept, func(a, b kept) int { return a.name.compare(b.name) })
	return r.makeRoom(0)
}

// remove removes a frame's or a clip's files, the masks first: what is left after a kill is not taken for whole.
func (r *Recording) remove(n name) error {
	var faults []error
	for _, ext := range []string{extMasks, extPicture, extPart, extClip, extClipMasks} {
		if err := r.dir.Remove(n.String() + ext); err != nil && !errors.Is(err, fs.ErrNotExist) {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// makeRoom removes the oldest until size bytes more are no more than there may be.
func (r *Recording) makeRoom(size int64) error {
	for len(r.kept) > 0 && r.total+size > r.most {
		if err := r.remove(r.kept[0].name); err != nil {
			return err
		}
		r.total -= r.kept[0].size
		r.kept = r.kept[1:]
	}
	return nil
}

// Add keeps a frame's picture, a JPEG, and its masks, and removes the oldest if there is no room for them
// otherwise. With an error nothing of the frame is kept; what was before, is.
func (r *Recording) Add(m *segdv1.MaskFrame, picture []byte) error {
	masks, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(m)
	if err != nil {
		return err
	}
	n, size := nameOf(m), int64(len(picture)+len(masks))
	if size > r.most {
		return fmt.Errorf("a frame has %d bytes; all of the recording may have %d", size, r.most)
	}
	if err := r.makeRoom(size); err != nil {
		return err
	}
	err = r.dir.WriteFile(n.String()+extPicture, picture, 0o644)
	if err == nil {
		err = r.dir.WriteFile(n.String()+extPart, masks, 0o644)
	}
	if err == nil {
		err = r.dir.Rename(n.String()+extPart, n.String()+extMasks)
	}
	if err != nil {
		return errors.Join(err, r.remove(n))
	}
	r.keep(n, size)
	return nil
}

func (r *Recording) keep(n name, size int64) {
	r.kept = append(r.kept, kept{n, size})
	r.total += size
}

// Close closes the folder.
func (r *Recording) Close() error { return r.dir.Close() }
