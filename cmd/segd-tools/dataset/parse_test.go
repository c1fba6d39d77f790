package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/mask"
)

const aPicture = "gate-1795294724651-000000007.jpg"

// cvatOf is a file with one picture.
func cvatOf(shapes string) string {
	return fmt.Sprintf("<annotations>\n<version>1.1</version>\n<image id=\"0\" name=\"%s\" width=\"65\" height=\"48\">%s</image></annotations>", aPicture, shapes)
}

func cocoOf(annotations string) string {
	return fmt.Sprintf(`{"images": [{"id": 4, "file_name": "train/%s", "width": 65, "height": 48}], "categories": [{"id": 2, "name": "cat"}],
"annotations": [%s]}`, aPicture, annotations)
}

// find reads a file for the newest picture of camera gate.
func find(t *testing.T, file string) (*annotation.Annotation, LeftOut, error) {
	t.Helper()
	c, err := Find(t.Context(), strings.NewReader(file), "gate", "")
	if err != nil {
		return nil, LeftOut{}, err
	}
	return c.Annotation(annotation.MaxID, nil)
}

// What people draw in other tools, and what comes of it.
func TestParse(t *testing.T) {
	rect := rectangle(10, 5, 30, 25)
	for name, tc := range map[string]struct {
		file string
		want mask.RLE // the zero value: a box
	}{
		"a byte order mark": {"\ufeff" + cocoOf(`{"image_id": 4, "category_id": 2, "bbox": [10, 5, 20, 20]}`), mask.RLE{}},
		"CVAT's mask":       {cvatOf(`<mask label="cat" occluded="0" rle="0, 400" left="10" top="5" width="20" height="20" z_order="0"></mask>`), rect},
		"a run that is cut": {cvatOf(`<mask label="cat" rle="0, 400" left="10" top="5" width="20" height="21"/>`), rect},
		"CVAT's polygon":    {cvatOf(`<polygon label="cat" points="10.00,5.00;30.00,5.00;30.00,25.00;10.00,25.00"/>`), rect},
		"CVAT's box":        {cvatOf(`<box label="cat" xtl="10" ytl="5" xbr="30" ybr="25"/>`), mask.RLE{}},
		"run lengths":       {cocoOf(fmt.Sprintf(`{"image_id": 4, "category_id": 2, "segmentation": {"size": [48, 65], "counts": %q}}`, rect)), rect},
		"plain run lengths": {cocoOf(`{"image_id": 4, "category_id": 2, "segmentation": {"size": [48, 65], "counts": ` + strings.ReplaceAll(fmt.Sprint(rect.Counts), " ", ",") + `}}`), rect},
		"two polygons":      {cocoOf(`{"image_id": 4, "category_id": 2, "segmentation": [[10, 5, 20, 5, 20, 25, 10, 25], [20, 5, 30, 5, 30, 25, 20, 25]]}`), rect},
		"over one another":  {cocoOf(`{"image_id": 4, "category_id": 2, "segmentation": [[10, 5, 25, 5, 25, 25, 10, 25], [20, 5, 30, 5, 30, 25, 20, 25]]}`), rect},
		"a bit outside":     {cocoOf(`{"image_id": 4, "category_id": 2, "segmentation": [[-0.001, 0, 65.0004, 0, 65, 48, 0, 48.001]]}`), rectangle(0, 0, 65, 48)},
		"far outside":       {cvatOf(`<polygon label="cat" points="-1000,-10;30,-10;30,5;1000,5;1000,1000;-1000,1000"/>`), union(rectangle(0, 0, 30, 48), rectangle(0, 5, 65, 48))},
		"a part outside":    {cocoOf(`{"image_id": 4, "category_id": 2, "segmentation": [[10, 5, 30, 5, 30, 25, 10, 25], [70, 5, 90, 5, 90, 25]]}`), rect},
		"ISO-8859-1":        {"<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n" + cvatOf(`<polygon label="cat" points="10,5;30,5;30,25;10,25"><attribute name="note">caf`+"\xe9"+`</attribute></polygon>`), rect},
		"parts before":      {fmt.Sprintf(`{"info": {"a": [1, {}]}, "annotations": [{"image_id": 4, "category_id": 2, "segmentation": [[10, 5, 30, 5, 30, 25, 10, 25]]}], "images": [{"id": 4, "file_name": %q, "width": 65, "height": 48}], "licenses": null, "categories": [{"id": 2, "name": "cat"}]}`, aPicture), rect},
		"COCO's box":        {cocoOf(`{"image_id": 4, "category_id": 2, "bbox": [10, 5, 20, 20], "segmentation": []}`), mask.RLE{}},
	} {
		t.Run(name, func(t *testing.T) {
			a, left, err := find(t, tc.file)
			if err != nil || left.Count > 0 {
				t.Fatalf("%v, %v", err, left)
			}
			o := a.Objects[0]
			if o.ID != 1 || o.Label != "cat" || len(a.Objects) != 1 {
				t.Errorf("%+v", a.Objects)
			}
			if got := fmt.Sprint(o.Box); tc.want.Counts == nil && got != "[10 5 30 25]" {
				t.Errorf("box %s", got)
			}
			if tc.want.Counts != nil {
				if got := marked(a.Raster(), 1); mask.IoU(got, tc.want) != 1 {
					t.Errorf("%d pixels at %v; want %d at %v", got.Area(), got.Box(), tc.want.Area(), tc.want.Box())
				}
			}
		})
	}
}

// A shape that was copied with its number is another object.
func TestParseCopied(t *testing.T) {
	shape := `<box label="cat" xtl="10" ytl="5" xbr="30" ybr="25"><attribute name="object_id">7</attribute></box>`
	a, _, err := find(t, cvatOf(shape+shape))
	if err != nil || a.Objects[0].ID != 7 || a.Objects[1].ID != 1 {
		t.Errorf("%+v, %v", a, err)
	}
}

// What is further up covers what is below, wherever in the file it is.
func TestParseLayers(t *testing.T) {
	a, _, err := find(t, cvatOf(`<polygon label="up" z_order="3" points="10,5;30,5;30,25;10,25"/><polygon label="down" z_order="-1" points="0,0;65,0;65,48;0,48"/>`+
		`<polygon label="between" points="5,5;20,5;20,25;5,25"/>`))
	require.NoError(t, err)
	for k, want := range []string{"down", "between", "up"} {
		if a.Objects[k].Label != want {
			t.Errorf("%+v; want %s as number %d", a.Objects, want, k)
		}
	}
	if got := marked(a.Raster(), 3); mask.IoU(got, rectangle(10, 5, 30, 25)) != 1 {
		t.Errorf("of what is up %d pixels are seen", got.Area())
	}
}

// One mark that is faulty or shows nothing costs itself alone.
func TestParseLeftOut(t *testing.T) {
	box := `<box label="cat" xtl="10" ytl="5" xbr="30" ybr="25"/>`
	for name, tc := range map[string]struct{ file, want string }{
		"CVAT, gone":    {cvatOf(`<mask label="cat" rle="400" left="10" top="5" width="20" height="20"/>` + box), "image of line 3, shape 1, a mask: it marks no pixel of the picture"},
		"CVAT, outside": {cvatOf(box + `<polygon label="cat" points="70,1;90,1;90,9"/>`), "image of line 3, shape 2, a polygon: it marks no pixel of the picture"},
		"CVAT, tag":     {cvatOf(box + `<tag label="cat"/>`), "image of line 3, shape 2, a tag: accepted: mask, polygon and box"},
		"COCO, gone":    {cocoOf(`{"image_id": 4, "id": 9, "segmentation": []}, {"image_id": 4, "bbox": [10, 5, 20, 20]}`), "annotation 1 of the file, id 9: it marks no pixel of the picture"},
		"COCO, empty":   {cocoOf(`{"image_id": 4, "bbox": [10, 5, 20, 20]}, {"image_id": 4, "id": 9, "bbox": [10, 5, 0, 0]}`), "annotation 2 of the file, id 9: box: [10 5 10 5] is 0×0"},
		"COCO, a line":  {cocoOf(`{"image_id": 4, "bbox": [10, 5, 20, 20]}, {"image_id": 4, "segmentation": [[1, 1, 9, 9, 5, 5]]}`), "it marks no pixel of the picture"},
	} {
		a, left, err := find(t, tc.file)
		if err != nil || len(a.Objects) != 1 || left.Count != 1 || len(left.Faults) != 1 || !strings.Contains(left.Faults[0].Error(), tc.want) {
			t.Errorf("%s: %v, %+v, %+v; want %s", name, err, a, left, tc.want)
		}
	}
}

// measured reads a file, and tells at its end how much memory is in use.
type measured struct {
	*strings.Reader
	most uint64
	read func()
}

func (k *measured) Read(p []byte) (int, error) {
	if k.read != nil {
		k.read()
	}
	n, err := k.Reader.Read(p)
	if k.Len() == 0 {
		k.most = max(k.most, inUse())
	}
	return n, err
}

func inUse() uint64 {
	runtime.GC()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return now.HeapAlloc
}

// A file of many empty things takes a few MiB, however large it is.
func TestParseKeepsLittle(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 4 s: 11 files of 3 MiB")
	}
	const n, most = 3 << 20, 8 << 20
	many := func(one string) string { return strings.Repeat(one, n/len(one)) }
	pictures := strings.TrimSuffix(many(`{"id": 1, "file_name": "`+aPicture+`"},`), ",")
	for name, tc := range map[string]struct{ file, want string }{
		"shapes":      {cvatOf(many("<box/>")), "nothing can be made of what is marked on it"},
		"attributes":  {cvatOf("<box>" + many(`<attribute name="object_id">1</attribute>`) + "</box>"), "nothing can be made"},
		"pictures":    {"<annotations>" + many("<image/>") + "</annotations>", "nothing is marked on any picture"},
		"elements":    {many("<a>"), "line 1: more than 100 elements inside one another"},
		"text":        {cvatOf(many(" ")), "an element of more than 2097152 bytes"},
		"annotations": {cocoOf(strings.TrimSuffix(many(`{"image_id":4},`), ",")), "nothing can be made"},
		"objects":     {cocoOf(strings.TrimSuffix(many(`{},`), ",")), "nothing is marked on any picture"},
		"images":      {`{"images": [` + pictures + `]}`, "nothing is marked on any picture"},
		"categories":  {`{"categories": [` + strings.TrimSuffix(many(`{},`), ",") + `]}`, "nothing is marked on any picture"},
		"lists":       {`{"info": ` + many("["), "more than 100 lists inside one another"},
		"one value":   {cocoOf(`{"image_id": 4, "x": "` + many("x") + `"}`), "line 2: an element of more than 2097152 bytes"},
	} {
		before := inUse()
		from := &measured{Reader: strings.NewReader(tc.file)}
		c, err := Find(t.Context(), from, "gate", "")
		if err == nil {
			_, _, err = c.Annotation(annotation.MaxID, nil)
		}
		assert.ErrorContains(t, err, tc.want, "%s", name)
		if took := int64(max(from.most, inUse())) - int64(before); took > most {
			t.Errorf("%s: %d bytes are kept; want at most %d", name, took, most)
		}
	}
}

// Who gives up while the file is read waits no longer.
func TestParseEnds(t *testing.T) {
	for name, file := range map[string]string{
		"CVAT": cvatOf(strings.Repeat("<box/>", 1<<16)),
		"COCO": cocoOf(strings.Repeat(`{"image_id": 4},`, 1<<16)),
		"text": strings.Repeat(" ", 1<<20),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		reads := 0
		from := &measured{Reader: strings.NewReader(file), read: func() {
			if reads++; reads == 3 {
				cancel()
			}
		}}
		if _, err := Find(ctx, from, "gate", ""); !errors.Is(err, context.Canceled) || reads > 3 {
			t.Errorf("%s: %v after %d reads", name, err, reads)
		}
	}
}

func TestParseFaults(t *testing.T) {
	maskOf := func(rle string) string {
		return cvatOf(fmt.Sprintf(`<mask label="cat" rle="%s" left="10" top="5" width="20" height="20"/>`, rle))
	}
	for name, tc := range map[string]struct{ file, want string }{
		"nothing":           {"", `it begins with ""; accepted: XML (CVAT for images 1.1) or JSON (COCO)`},
		"a ZIP archive":     {"PK\x03\x04…", "a ZIP archive; accepted: the annotations.xml"},
		"XML cut short":     {"<annotations>\n<image", "line 2"},
		"an encoding":       {"<?xml version=\"1.0\" encoding=\"klingon\"?><annotations/>", `encoding "klingon"; accepted: UTF-8, ISO-8859-1`},
		"tracks":            {"<annotations>\n<track id=\"0\"/></annotations>", `line 2: a track; accepted: pictures, as of the export "CVAT for images 1.1"`},
		"JSON cut short":    {"{\n\"images\": [", "line 2: unexpected end"},
		"another JSON":      {"{\"images\":\n7}", "line 2: images: \"7\"; accepted: a list"},
		"an ellipse":        {cvatOf(`<ellipse label="cat" cx="1"/>`), "image of line 3, shape 1, a ellipse: accepted: mask, polygon and box"},
		"a turned box":      {cvatOf(`<box label="cat" xtl="1" ytl="1" xbr="9" ybr="9" rotation="30"/>`), "it is turned; accepted: an upright box"},
		"a box of words":    {cvatOf(`<box label="cat" xtl="left" ytl="1" xbr="9" ybr="9"/>`), `xtl, ytl, xbr and ybr: "left"; accepted: numbers`},
		"a mask outside":    {cvatOf(`<mask label="cat" rle="0, 400" left="50" top="5" width="20" height="20"/>`), "20×20 at (50,5); accepted: inside the picture of 65×48"},
		"a huge mask":       {cvatOf(`<mask label="cat" rle="1" left="9223372036854775807" top="5" width="9223372036854775807" height="2"/>`), "accepted: inside the picture of 65×48"},
		"too long a run":    {maskOf("5, 396"), "rle: run 2 is 396; accepted: 0 to 395"},
		"a run below 0":     {maskOf("-5"), "rle: run 1 is -5; accepted: 0 to 400"},
		"a run of words":    {maskOf("5, many"), `rle: " many"; accepted: numbers`},
		"no point":          {cvatOf(`<polygon label="cat" points="1,1"/>`), "polygon: 1 points; want 3…10000"},
		"half a point":      {cvatOf(`<polygon label="cat" points="1,1;9,1;9"/>`), "points: 5 numbers; accepted: pairs of x and y"},
		"all outside":       {cvatOf(`<polygon label="cat" points="66,1;70,1;69,9"/>`), "it marks no pixel"},
		"too many objects":  {cvatOf(strings.Repeat(`<box label="cat" xtl="10" ytl="5" xbr="30" ybr="25"/>`, 256)), aPicture + ": more than 255 objects"},
		"too many runs":     {maskOf(strings.Repeat("0, ", 100_000) + "1"), "100001 run lengths; accepted: at most 100000"},
		"too often":         {cocoOf(`{"image_id": 4, "segmentation": [` + strings.Repeat("[0, 0, 65, 0, 65, 48, 0, 48],", 64) + `[0, 0, 65, 0, 65, 48, 0, 48]]}`), "accepted: at most 64 times the picture"},
		"a level of words":  {cvatOf(`<box label="cat" xtl="1" ytl="1" xbr="9" ybr="9" z_order="top"/>`), `z_order: "top"; accepted: a whole number`},
		"NaN":               {cvatOf(`<polygon label="cat" points="1,1;NaN,1;9,9"/>`), `points: "NaN"; accepted: numbers`},
		"another size":      {cocoOf(`{"image_id": 4, "segmentation": {"size": [65, 48], "counts": "0"}}`), "run lengths of the picture's 65×48"},
		"bad run lengths":   {cocoOf(`{"image_id": 4, "segmentation": {"size": [48, 65], "counts": "~~"}}`), "not a COCO run-length string"},
		"a segmentation":    {cocoOf(`{"image_id": 4, "segmentation": "x"}`), "annotation 1 of the file, id 0: segmentation: json"},
		"too many points":   {cocoOf(`{"image_id": 4, "segmentation": [[` + strings.Repeat("1,", 20001) + `1]]}`), "segmentation: more than 10000 points"},
		"a picture of 1 TB": {`{"images": [{"id": 1, "file_name": "` + aPicture + `", "width": 1000000, "height": 1000000}], "annotations": [{"image_id": 1}]}`, "too large"},
		"nothing marked on": {cocoOf(`{"image_id": 4, "category_id": 2}`), "it marks no pixel"},
	} {
		_, left, err := find(t, tc.file)
		err = errors.Join(append(left.Faults, err)...)
		assert.ErrorContains(t, err, tc.want, "%s", name)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(cvatOf(`<mask label="cat" rle="0, 400" left="10" top="5" width="20" height="20"/><polygon points="1,1;9,1;9,9"/>`)))
	f.Add([]byte(cvatOf(`<box label="cat" xtl="10" ytl="5" xbr="30" ybr="25"><attribute name="object_id">7</attribute></box>`)))
	f.Add([]byte(cocoOf(`{"image_id": 4, "category_id": 2, "segmentation": [[10, 5, 20, 5, 20, 25, 10, 25], [1, 1, 2, 1, 2, 2]], "attributes": {"object_id": 300}}`)))
	f.Add([]byte(cocoOf(fmt.Sprintf(`{"image_id": 4, "category_id": 2, "segmentation": {"size": [48, 65], "counts": %q}}`, rectangle(1, 1, 5, 5)))))
	large := regexp.MustCompile("[0-9]{4}")
	f.Fuzz(func(t *testing.T, data []byte) {
		if large.Match(bytes.ReplaceAll(data, []byte(aPicture), nil)) {
			return // pictures of that size are slow, not another way
		}
		c, err := Find(t.Context(), bytes.NewReader(data), "gate", "")
		if err != nil {
			return
		}
		if a, _, err := c.Annotation(300, map[uint32]bool{1: true}); err == nil && a.Validate() != nil {
			t.Errorf("%s: %v", c.File, a.Validate())
		}
	})
}

func union(a, b mask.RLE) mask.RLE {
	bits := a.Decode(nil)
	for i, bit := range b.Decode(nil) {
		bits[i] |= bit
	}
	return mask.Encode(bits, a.Width, a.Height)
}
