package dataset

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/mask"
)

// awkward is a name that no path, no attribute and no YAML takes as it is.
var awkward = "a/b\\c: <&\"'🐈>" + strings.Repeat("x", 200)

// recorded is a folder with ten frames of gate and five of yard, each with a person, a thing that was marked as awkward,
// and one that is not in sight.
func recorded(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "recording")
	for camera, frames := range map[string]uint64{"gate": 10, "yard": 5} {
		r, err := OpenRecording(dir, camera, 1<<20)
		require.NoError(t, err)
		for seq := range frames {
			m, picture := frame(t, camera, seq, &segdv1.Object{Id: 1, Label: awkward, Box: box(2, 3, 10, 20)}, &segdv1.Object{Id: 2, Label: "away"},
				&segdv1.Object{Id: 256, Label: "Ada", Class: "person", Score: .75, Box: box(20, 5, 20+int32(seq), 30)})
			require.NoError(t, r.Add(m, picture))
		}
		require.NoError(t, r.Close())
	}
	return dir
}

func export(t *testing.T, from, format string, percent ...int) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "out")
	done, err := Export(from, to, format, percent)
	require.NoError(t, err)
	if done.Pictures != 15 || done.Objects != 30 || !slices.Equal(done.Classes, []string{awkward, "person"}) || len(done.LeftOut) > 0 {
		t.Errorf("%s: %+v", format, done)
	}
	return to
}

// What is written is read again, and is an annotation of the same masks.
func TestExportImport(t *testing.T) {
	from := recorded(t)
	for format, file := range map[string]string{"coco": "annotations/instances_train.json", "cvat": "annotations.xml"} {
		t.Run(format, func(t *testing.T) {
			text, err := os.Open(filepath.Join(export(t, from, format, 100), file))
			require.NoError(t, err)
			defer text.Close()
			if p, err := Find(t.Context(), text, "gate", ""); err != nil || p.Sequence != 9 {
				t.Errorf("%+v, %v; want the newest", p, err)
			}
			p, err := Find(t.Context(), text, "gate", "gate-1795294724651-000000003.jpg")
			require.NoError(t, err)
			if p.Camera != "gate" || p.Epoch != testEpoch || p.Sequence != 3 || p.File != "gate-1795294724651-000000003.jpg" {
				t.Errorf("%+v", p)
			}
			if a, left, err := p.Annotation(annotation.MaxID, nil); err != nil || len(a.Objects) != 1 || left.Count != 1 || !strings.Contains(left.Faults[0].Error(), "label: 213 characters; want at most 100") {
				t.Errorf("of a label that is too long: %v, %v", left, err)
			}
			a, left, err := p.Annotation(1000, map[uint32]bool{1: true})
			if err != nil || left.Count > 0 {
				t.Fatal(left, err)
			}
			if len(a.Objects) != 2 || a.Objects[0].ID != 1 || a.Objects[1].ID != 256 || a.Objects[0].Label != "" || a.Objects[1].Label != "person" {
				t.Errorf("objects %+v", a.Objects)
			}
			marks := a.Raster()
			for k, want := range []mask.RLE{rectangle(2, 3, 12, 23), rectangle(20, 5, 43, 35)} {
				if got := marked(marks, int16(k+1)); mask.IoU(got, want) != 1 {
					t.Errorf("object %d has %d pixels at %v; want %v", k, got.Area(), got.Box(), want.Box())
				}
			}
			// Other numbers, where those of segd's are too large.
			if a, _, err := p.Annotation(255, map[uint32]bool{1: true, 2: true}); err != nil || a.Objects[1].ID != 3 {
				t.Errorf("%+v, %v", a, err)
			}
		})
	}
}

func marked(marks []int16, k int16) mask.RLE {
	bits := make([]uint8, len(marks))
	for i, m := range marks {
		if m == k {
			bits[i] = 1
		}
	}
	return mask.Encode(bits, testWidth, testHeight)
}

func TestExportYOLO(t *testing.T) {
	to := export(t, recorded(t), "yolo-seg", 60, 40)
	text, err := os.ReadFile(filepath.Join(to, "data.yaml"))
	require.NoError(t, err)
	var data struct {
		Train, Val, Test string
		Names            []string
	}
	require.NoError(t, yaml.Unmarshal(text, &data))
	if data.Train != "images/train" || data.Val != "images/val" || data.Test != "" || !slices.Equal(data.Names, []string{awkward, "person"}) {
		t.Errorf("data.yaml:\n%s", text)
	}
	// Of each camera the first six tenths, by time.
	var names []string
	for camera, frames := range map[string][2]int{"gate": {6, 10}, "yard": {3, 5}} {
		for seq := range frames[1] {
			part := "train"
			if seq >= frames[0] {
				part = "val"
			}
			file := fmt.Sprintf("%s/%s-1795294724651-%09d", part, camera, seq)
			names = append(names, "images/"+file+".jpg", "labels/"+file+".txt")
		}
	}
	want(t, to, append(names, "data.yaml")...)
	lines, err := os.ReadFile(filepath.Join(to, "labels/val/gate-1795294724651-000000007.txt"))
	require.NoError(t, err)
	if n := strings.Count(string(lines), "\n"); n != 2 || !strings.Contains(string(lines), "\n1 0.30784") {
		t.Errorf("labels:\n%s", lines)
	}
	if one := export(t, recorded(t), "yolo-seg", 100); !strings.Contains(read(t, filepath.Join(one, "data.yaml")), "val: images/train") {
		t.Error("without a split there is nothing to validate by, which Ultralytics refuses")
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func TestExportMasks(t *testing.T) {
	to := export(t, recorded(t), "mask-png", 100)
	rows, err := csv.NewReader(strings.NewReader(read(t, filepath.Join(to, "classes.csv")))).ReadAll()
	if err != nil || len(rows) != 3 || rows[1][0] != "1" || rows[1][1] != awkward || rows[2][1] != "person" {
		t.Errorf("classes.csv: %q, %v", rows, err)
	}
	f, err := os.Open(filepath.Join(to, "masks/train/yard-1795294724651-000000004.png"))
	require.NoError(t, err)
	defer f.Close()
	img, err := png.Decode(bufio.NewReader(f))
	require.NoError(t, err)
	labels := img.(*image.Paletted)
	for value, want := range map[uint8]mask.RLE{1: rectangle(2, 3, 12, 23), 2: rectangle(20, 5, 44, 35)} {
		bits := make([]uint8, len(labels.Pix))
		for i, p := range labels.Pix {
			if p == value {
				bits[i] = 1
			}
		}
		if got := mask.Encode(bits, testWidth, testHeight); mask.IoU(got, want) != 1 {
			t.Errorf("class %d is at %v; want %v", value, got.Box(), want.Box())
		}
	}
}

// A second name costs no room, and the pictures stay when the recording's are removed.
func TestExportLinks(t *testing.T) {
	from := recorded(t)
	to := export(t, from, "cvat", 50, 30, 20)
	for _, folder := range []string{from, filepath.Join(to, "images")} {
		if n := len(slices.DeleteFunc(list(t, folder), func(name string) bool { return filepath.Ext(name) != ".jpg" })); n != 15 {
			t.Errorf("%s has %d pictures", folder, n)
		}
	}
	a, err := os.Stat(filepath.Join(from, "gate-1795294724651-000000007.jpg"))
	b, err2 := os.Stat(filepath.Join(to, "images", "gate-1795294724651-000000007.jpg"))
	if err != nil || err2 != nil || !os.SameFile(a, b) {
		t.Errorf("two files, %v, %v", err, err2)
	}
	if text := read(t, filepath.Join(to, "annotations.xml")); strings.Count(text, `subset="val"`) != 4 {
		t.Errorf("%d pictures are val's; want 3 of ten and 1 of five", strings.Count(text, `subset="val"`))
	}
}

// What is damaged is left out and told of.
func TestExportLeavesOut(t *testing.T) {
	from := recorded(t)
	for seq, text := range map[int]string{
		0: "{",
		1: `{"site":"home","camera":"gate","epoch":"1795294724651","sequence":"9","width":65,"height":48}`,
		2: `{"site":"home","camera":"gate","epoch":"1795294724651","sequence":"2","width":66,"height":48}`,
	} {
		put(t, filepath.Join(from, fmt.Sprintf("gate-1795294724651-%09d.json", seq)), text)
	}
	require.NoError(t, os.Remove(filepath.Join(from, "gate-1795294724651-000000003.jpg")))
	put(t, filepath.Join(from, "gate-1795294724651-000000004.jpg"), "no JPEG")
	put(t, filepath.Join(from, "holiday.json"), "{}")
	done, err := Export(from, filepath.Join(t.TempDir(), "out"), "coco", []int{100})
	if err != nil || done.Pictures != 10 || len(done.LeftOut) != 4 {
		t.Fatalf("%+v, %v; want ten pictures and four left out", done, err)
	}
	for i, want := range []string{"bad message", "it has the masks of gate-1795294724651-000000009", "masks of 66×48 on a picture of 65×48", "invalid JPEG"} {
		if said := done.LeftOut[i].Error(); !strings.HasPrefix(said, fmt.Sprintf("gate-1795294724651-%09d.json: ", []int{0, 1, 2, 4}[i])) || !strings.Contains(said, want) {
			t.Errorf("left out: %s; want %s", said, want)
		}
	}
}

func TestExportFaults(t *testing.T) {
	from, elsewhere, taken := recorded(t), t.TempDir(), t.TempDir()
	put(t, filepath.Join(elsewhere, "holiday.jpg"), "somebody's")
	crowded := filepath.Join(t.TempDir(), "crowded")
	r, err := OpenRecording(crowded, "gate", 1<<30)
	require.NoError(t, err)
	defer r.Close()
	for seq := range uint64(256) {
		m, picture := frame(t, "gate", seq, &segdv1.Object{Id: 1, Label: "class " + strconv.Itoa(int(seq)), Box: box(0, 0, 5, 5)})
		require.NoError(t, r.Add(m, picture))
	}
	to := filepath.Join(t.TempDir(), "out")
	for name, tc := range map[string]struct{ from, to, format, want string }{
		"format":           {from, to, "voc", `format "voc"; accepted: coco, cvat, mask-png, yolo-seg`},
		"nothing":          {filepath.Join(elsewhere, "x"), to, "coco", "no such file"},
		"a file":           {filepath.Join(elsewhere, "holiday.jpg"), to, "coco", "not a directory"},
		"something else":   {elsewhere, to, "coco", "has no picture with masks; accepted: a folder that segd record has written to"},
		"there already":    {from, taken, "coco", "is there already; accepted: a folder that is not"},
		"too many classes": {crowded, to, "mask-png", "256 classes; a PNG with a palette holds 255"},
	} {
		if _, err := Export(tc.from, tc.to, tc.format, []int{100}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %s", name, err, tc.want)
		}
		if _, err := os.Stat(to); !os.IsNotExist(err) {
			t.Errorf("%s: something is left of it: %v", name, err)
		}
	}
}
