package dataset

import (
	"fmt"
	"strings"
	"testing"

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
		"COCO's box":        {cocoOf(`{"image_id": 4, "category_id": 2, "bbox": [10, 5, 20, 20], "segmentation": []}`), mask.RLE{}},
	} {
		t.Run(name, func(t *testing.T) {
			pictures, _, err := Parse([]byte(tc.file))
			if err != nil || len(pictures) != 1 {
				t.Fatalf("%d pictures, %v", len(pictures), err)
			}
			a, err := pictures[0].Annotation(annotation.MaxID, nil)
			if err != nil {
				t.Fatal(err)
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
	pictures, _, err := Parse([]byte(cvatOf(shape + shape)))
	if err != nil {
		t.Fatal(err)
	}
	a, err := pictures[0].Annotation(annotation.MaxID, nil)
	if err != nil || a.Objects[0].ID != 7 || a.Objects[1].ID != 1 {
		t.Errorf("%+v, %v", a, err)
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
		"tracks":            {"<annotations>\n<track id=\"0\"/></annotations>", `line 2: a track; accepted: pictures, as of the export "CVAT for images 1.1"`},
		"JSON cut short":    {"{\n\"images\": [", "line 2: unexpected end"},
		"another JSON":      {"{\"images\":\n7}", "line 2: json: cannot unmarshal number"},
		"an ellipse":        {cvatOf(`<ellipse label="cat" cx="1"/>`), aPicture + ": image of line 3, shape 1, a ellipse: accepted: mask, polygon and box"},
		"a turned box":      {cvatOf(`<box label="cat" xtl="1" ytl="1" xbr="9" ybr="9" rotation="30"/>`), "it is turned; accepted: an upright box"},
		"a box of words":    {cvatOf(`<box label="cat" xtl="left" ytl="1" xbr="9" ybr="9"/>`), `xtl, ytl, xbr and ybr: "left"; accepted: numbers`},
		"a mask outside":    {cvatOf(`<mask label="cat" rle="0, 400" left="50" top="5" width="20" height="20"/>`), "20×20 at (50,5); accepted: inside the picture of 65×48"},
		"a huge mask":       {cvatOf(`<mask label="cat" rle="1" left="9223372036854775807" top="5" width="9223372036854775807" height="2"/>`), "accepted: inside the picture of 65×48"},
		"too long a run":    {maskOf("5, 396"), "rle: run 2 is 396; accepted: 0 to 395"},
		"a run below 0":     {maskOf("-5"), "rle: run 1 is -5; accepted: 0 to 400"},
		"a run of words":    {maskOf("5, many"), `rle: " many"; accepted: numbers`},
		"no point":          {cvatOf(`<polygon label="cat" points="1,1"/>`), "objects[0].polygon: 1 points; want 3…10000"},
		"half a point":      {cvatOf(`<polygon label="cat" points="1,1;9,1;9"/>`), "points: 5 numbers; accepted: pairs of x and y"},
		"a point outside":   {cvatOf(`<polygon label="cat" points="1,1;70,1;9,9"/>`), "objects[0].polygon[1]: (70, 1) is outside the 65×48 frame"},
		"NaN":               {cvatOf(`<polygon label="cat" points="1,1;NaN,1;9,9"/>`), "objects[0].polygon[1]"},
		"another size":      {cocoOf(`{"image_id": 4, "segmentation": {"size": [65, 48], "counts": "0"}}`), "run lengths of the picture's 65×48"},
		"bad run lengths":   {cocoOf(`{"image_id": 4, "segmentation": {"size": [48, 65], "counts": "~~"}}`), "not a COCO run-length string"},
		"a segmentation":    {cocoOf(`{"image_id": 4, "segmentation": "x"}`), "annotation 1 of it: segmentation: json"},
		"too many points":   {cocoOf(`{"image_id": 4, "segmentation": [[` + strings.Repeat("1,", 20001) + `1]]}`), "segmentation: more than 10000 points"},
		"a picture of 1 TB": {`{"images": [{"id": 1, "file_name": "` + aPicture + `", "width": 1000000, "height": 1000000}], "annotations": [{"image_id": 1}]}`, "too large"},
		"nothing marked on": {cocoOf(`{"image_id": 4, "category_id": 2}`), "objects[0].scribbles: none"},
	} {
		pictures, _, err := Parse([]byte(tc.file))
		if err == nil && len(pictures) > 0 {
			_, err = pictures[0].Annotation(annotation.MaxID, nil)
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %s", name, err, tc.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(cvatOf(`<mask label="cat" rle="0, 400" left="10" top="5" width="20" height="20"/><polygon points="1,1;9,1;9,9"/>`)))
	f.Add([]byte(cvatOf(`<box label="cat" xtl="10" ytl="5" xbr="30" ybr="25"><attribute name="object_id">7</attribute></box>`)))
	f.Add([]byte(cocoOf(`{"image_id": 4, "category_id": 2, "segmentation": [[10, 5, 20, 5, 20, 25, 10, 25], [1, 1, 2, 1, 2, 2]], "attributes": {"object_id": 300}}`)))
	f.Add([]byte(cocoOf(fmt.Sprintf(`{"image_id": 4, "category_id": 2, "segmentation": {"size": [48, 65], "counts": %q}}`, rectangle(1, 1, 5, 5)))))
	f.Fuzz(func(t *testing.T, data []byte) {
		pictures, _, err := Parse(data)
		if err != nil {
			return
		}
		for _, p := range pictures[:min(len(pictures), 3)] {
			if p.Width > 1000 || p.Height > 1000 {
				continue // slow, not another way
			}
			if a, err := p.Annotation(300, map[uint32]bool{1: true}); err == nil && a.Validate() != nil {
				t.Errorf("%s: %v", p.File, a.Validate())
			}
		}
	})
}
