package dataset

import (
	"encoding/json"
	"io"
	"time"
)

// The parts of a COCO file of instances that are written.
type (
	cocoFile struct {
		Info        cocoInfo         `json:"info"`
		Images      []cocoImage      `json:"images"`
		Annotations []cocoAnnotation `json:"annotations"`
		Categories  []cocoCategory   `json:"categories"`
	}
	cocoInfo struct {
		Description string `json:"description"`
	}
	cocoImage struct {
		ID       int       `json:"id"`
		File     string    `json:"file_name"`
		Width    int32     `json:"width"`
		Height   int32     `json:"height"`
		Captured time.Time `json:"date_captured"`
	}
	cocoAnnotation struct {
		ID           int            `json:"id"`
		Image        int            `json:"image_id"`
		Category     int            `json:"category_id"`
		Segmentation cocoRLE        `json:"segmentation"`
		Area         int32          `json:"area"`
		Box          [4]int32       `json:"bbox"`
		Crowd        int            `json:"iscrowd"` // 0: each mask is of one object
		Score        float64        `json:"score"`
		Attributes   map[string]any `json:"attributes"`
	}
	cocoRLE struct {
		Size   [2]int32 `json:"size"` // height, width
		Counts string   `json:"counts"`
	}
	cocoCategory struct {
		ID   int    `json:"id"`
		Name string `json:"name"`
	}
)

// coco writes annotations/instances_SPLIT.json, with the masks as they are on the bus.
func coco(s *set) error {
	for _, split := range s.splits {
		f := cocoFile{Info: cocoInfo{"recorded by segd"}, Images: []cocoImage{}, Annotations: []cocoAnnotation{}, Categories: []cocoCategory{}}
		for i, class := range s.classes {
			f.Categories = append(f.Categories, cocoCategory{i + 1, class})
		}
		for i, p := range s.of(split) {
			f.Images = append(f.Images, cocoImage{i + 1, p.String() + extPicture, p.masks.GetWidth(), p.masks.GetHeight(), p.masks.GetCaptureTime().AsTime()})
			for _, o := range p.objects {
				f.Annotations = append(f.Annotations, cocoAnnotation{
					ID: len(f.Annotations) + 1, Image: i + 1, Category: s.class(o) + 1,
					Segmentation: cocoRLE{[2]int32{p.masks.GetHeight(), p.masks.GetWidth()}, o.GetCounts()},
					Area:         o.GetArea(), Box: [4]int32{o.GetBox().GetX(), o.GetBox().GetY(), o.GetBox().GetWidth(), o.GetBox().GetHeight()},
					Score: o.GetScore(), Attributes: map[string]any{attrTrack: o.track, attrObject: o.GetId()},
				})
			}
		}
		if err := s.write("annotations/instances_"+split+".json", func(w io.Writer) error { return json.NewEncoder(w).Encode(f) }); err != nil {
			return err
		}
	}
	return nil
}
