package main

import (
	"cmp"
	"fmt"
	"image"
	_ "image/jpeg" // pictures
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// rule says which segments of a label map are objects. Shares are of the picture's area
// unless it says otherwise.
type rule struct {
	classes map[int32]bool // connected pixels of one of these are a segment; nil: a label is one
	area    int            // of the segment at least, pixels
	segment float64        // of the segment at most
	box     float64        // of its box at most
	fill    float64        // of the box that it fills at least
	side    int            // of the box at least, pixels
	alike   float64        // J at least with a segment of another's label map
	contact float64        // of the box's outline that it lies along at most
}

// drawnAlike are segments that two people drew, and which are not flush with their boxes.
var drawnAlike = rule{area: 500, segment: 0.5, box: 0.7, fill: 0.2, side: 20, alike: 0.7, contact: 0.45}

// twice is the J with an object already found from which on a segment is that one.
const twice = 0.8

// source is a picture with its label maps.
type source struct {
	picture string
	labels  []string
	rule    rule
}

// find lists one in every pictures of folders, PICTURES,LABELS, that have label maps.
func find(folders string, r rule, every int) (found []source, err error) {
	pictures, labels, ok := strings.Cut(folders, ",")
	if !ok {
		return nil, fmt.Errorf("folders %q; want PICTURES,LABELS", folders)
	}
	n := 0
	err = filepath.WalkDir(pictures, func(file string, entry fs.DirEntry, err error) error {
		ext := filepath.Ext(file)
		if err != nil || entry.IsDir() || ext != ".jpg" && ext != ".png" {
			return err
		}
		n++
		if (n-1)%every != 0 {
			return nil
		}
		name := filepath.Join(labels, strings.TrimSuffix(filepath.Base(file), ext))
		maps, err := filepath.Glob(name + "-*.png")
		if _, missing := os.Stat(name + ".png"); missing == nil {
			maps = append(maps, name+".png")
		}
		if err == nil && len(maps) > 0 {
			found = append(found, source{file, maps, r})
		}
		return err
	})
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("no picture in %s has label maps in %s; want NAME.png or NAME-*.png for NAME.jpg", pictures, labels)
	}
	return found, err
}

// labelMap is the segment of each pixel, 0 where there is none.
type labelMap struct {
	width, height int
	at            []int32
	most          int32
}

func readLabels(file string) (*labelMap, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	decoded, err := png.Decode(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	b := decoded.Bounds()
	m := &labelMap{width: b.Dx(), height: b.Dy()}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			var l int32
			switch i := decoded.(type) {
			case *image.Gray:
				l = int32(i.GrayAt(x, y).Y)
			case *image.Gray16:
				l = int32(i.Gray16At(x, y).Y)
			case *image.Paletted:
				l = int32(i.ColorIndexAt(x, y))
			default:
				return nil, fmt.Errorf("%s is coloured; want a label map, grey or with a palette", file)
			}
			m.at, m.most = append(m.at, l), max(m.most, l)
		}
	}
	return m, nil
}

// components are the connected pixels (4 neighbours) of one class each.
func (m *labelMap) components(classes map[int32]bool) *labelMap {
	c := &labelMap{width: m.width, height: m.height, at: make([]int32, len(m.at))}
	var open []int
	visit := func(p int, class int32) {
		if m.at[p] == class && c.at[p] == 0 {
			c.at[p] = c.most
			open = append(open, p)
		}
	}
	for from, class := range m.at {
		if !classes[class] || c.at[from] != 0 {
			continue
		}
		c.most++
		visit(from, class)
		for len(open) > 0 {
			p := open[len(open)-1]
			open = open[:len(open)-1]
			if p%m.width > 0 {
				visit(p-1, class)
			}
			if p%m.width < m.width-1 {
				visit(p+1, class)
			}
			if p >= m.width {
				visit(p-m.width, class)
			}
			if p+m.width < len(m.at) {
				visit(p+m.width, class)
			}
		}
	}
	return c
}

// object is a segment's pixels, rising, and their box.
type object struct {
	pixels []int32
	box    image.Rectangle
}

// objects are those of a picture with these label maps.
func (r *rule) objects(maps []*labelMap) (found []object) {
	if r.classes != nil {
		for k, m := range maps {
			maps[k] = m.components(r.classes)
		}
	}
	for _, m := range maps {
		segments := make([]object, m.most+1)
		for p, l := range m.at {
			o, x, y := &segments[l], p%m.width, p/m.width
			o.pixels = append(o.pixels, int32(p))
			o.box = o.box.Union(image.Rect(x, y, x+1, y+1))
		}
		for _, o := range segments[1:] {
			alike := r.alike == 0 || slices.ContainsFunc(maps, func(other *labelMap) bool { return other != m && o.best(other) >= r.alike })
			if alike && r.fits(o, m) && !slices.ContainsFunc(found, func(f object) bool { return o.j(f) > twice }) {
				found = append(found, o)
			}
		}
	}
	return found
}

// fits tells whether o is an object by its size and its box.
func (r *rule) fits(o object, m *labelMap) bool {
	area, size, picture := len(o.pixels), o.box.Size(), float64(len(m.at))
	box := float64(size.X * size.Y)
	ends := 0
	for _, at := range [...]bool{o.box.Min.X == 0, o.box.Min.Y == 0, o.box.Max.X == m.width, o.box.Max.Y == m.height} {
		if at {
			ends++
		}
	}
	if area < max(1, r.area) || float64(area) > r.segment*picture || ends > 1 || box > r.box*picture || float64(area) < r.fill*box || min(size.X, size.Y) < r.side {
		return false
	}
	along := 0
	for _, p := range o.pixels {
		x, y := int(p)%m.width, int(p)/m.width
		for _, at := range [...]bool{x == o.box.Min.X, y == o.box.Min.Y, x == o.box.Max.X-1, y == o.box.Max.Y-1} {
			if at {
				along++
			}
		}
	}
	return float64(along) <= r.contact*float64(2*(size.X+size.Y))
}

// best is o's J with the segment of another label map that most of it lies in.
func (o object) best(m *labelMap) float64 {
	counts, areas := make([]int, m.most+1), make([]int, m.most+1)
	for _, p := range o.pixels {
		counts[m.at[p]]++
	}
	for _, l := range m.at {
		areas[l]++
	}
	most := slices.Index(counts, slices.Max(counts))
	return float64(counts[most]) / float64(max(1, len(o.pixels)+areas[most]-counts[most]))
}

// j is the intersection over union of two objects.
func (o object) j(f object) float64 {
	if !o.box.Overlaps(f.box) {
		return 0
	}
	both := 0
	for _, p := range o.pixels {
		if _, ok := slices.BinarySearchFunc(f.pixels, p, cmp.Compare[int32]); ok {
			both++
		}
	}
	return float64(both) / float64(len(o.pixels)+len(f.pixels)-both)
}
