package clip

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/segd/segd/eval/internal/clip/cliptest"
)

func TestRead(t *testing.T) {
	root := cliptest.New(t, "square", 4)
	cliptest.Add(t, root, "other", 3)
	clips, err := Open(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(clips) != 2 || clips[0].Name != "other" || clips[1].Name != "square" || len(clips[1].Images) != 4 {
		t.Fatalf("%d clips; want other and square", len(clips))
	}
	if clips[0].Hash() == clips[1].Hash() {
		t.Error("two names, one hash")
	}
	p, err := clips[1].Read(3)
	if err != nil {
		t.Fatal(err)
	}
	if p.Width != 96 || p.Height != 64 || len(p.BGR) != 3*96*64 || len(p.Truth) != 96*64 {
		t.Fatalf("%d×%d of %d bytes and %d of truth; want 96×64", p.Width, p.Height, len(p.BGR), len(p.Truth))
	}
	at := 30*96 + slices.Index(p.Truth[30*96:31*96], 1) + 10
	if b, g, r := p.BGR[3*at], p.BGR[3*at+1], p.BGR[3*at+2]; r < 180 || g > 60 || b > 60 {
		t.Errorf("the object is %d, %d, %d in red, green and blue; want 200, 30, 30", r, g, b)
	}
	if c := p.Image().RGBAAt(at%96, at/96); c.R != p.BGR[3*at+2] || c.G != p.BGR[3*at+1] || c.B != p.BGR[3*at] || c.A != 255 {
		t.Errorf("the image has %v there", c)
	}
}

func TestFaults(t *testing.T) {
	root := cliptest.New(t, "square", 3)
	short := cliptest.New(t, "brief", 2)
	lacking := cliptest.New(t, "lacking", 3)
	if err := os.Remove(filepath.Join(lacking, truthFolder, "lacking", "00001.png")); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, root string
		sequences  []string
		want       string
	}{
		{"no such root", filepath.Join(root, "nowhere"), nil, "JPEGImages/480p"},
		{"no such sequence", root, []string{"circle"}, `no sequence "circle"`},
		{"too short", short, nil, "want at least 3"},
		{"no truth", lacking, nil, "00001.png"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clips, err := Open(tt.root, tt.sequences)
			if err == nil {
				_, err = clips[0].Read(1)
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v; want one with %q", err, tt.want)
			}
		})
	}
}
