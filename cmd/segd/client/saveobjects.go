package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image/png"
	"io"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/internal/files"
	"github.com/segd/segd/outputs/draw"
)

// saveObjects writes the first frame of the page that shows an object as an annotation.
func saveObjects(ctx context.Context, out io.Writer, page Page, camera, path string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var file []byte
	var saved *segdv1.MaskFrame
	var fault error
	err := page.Watch(ctx, camera, 0, PageHandlers{Frame: func(m *segdv1.MaskFrame, picture []byte) {
		if m = peoples(m); saved != nil || len(m.GetObjects()) == 0 {
			return
		}
		saved = m
		file, fault = annotationFile(m, picture)
		cancel()
	}, LeftOut: func(error) {}}) // the others can be saved
	switch {
	case fault != nil:
		return fmt.Errorf("objects: %w", fault)
	case saved == nil && ctx.Err() != nil:
		return fmt.Errorf("objects: no object of camera %s is in sight that people marked or keep: %w", camera, err)
	case saved == nil:
		return err
	}
	if err := files.WriteWhole(path, 0o644, file); err != nil {
		return cli.Usage(err)
	}
	_, err = fmt.Fprintf(out, "%s: the objects of frame %d in %s\n", camera, saved.GetSequence(), path)
	return err
}

// peoples is m with the objects in sight alone that are people's: others are found again by the detector.
// Those that it found first, and people keep, get numbers that a mask's pixels hold.
func peoples(m *segdv1.MaskFrame) *segdv1.MaskFrame {
	own := &segdv1.MaskFrame{Sequence: m.GetSequence(), Width: m.GetWidth(), Height: m.GetHeight()}
	used := map[uint32]bool{}
	for _, o := range m.GetObjects() {
		used[o.GetId()] = true
	}
	for _, o := range m.GetObjects() {
		if o.GetArea() == 0 || o.GetAutomatic() {
			continue
		}
		id := o.GetId()
		for k := uint32(1); id > annotation.MaxID && k <= annotation.MaxID; k++ {
			if !used[k] {
				id, used[k] = k, true
			}
		}
		own.Objects = append(own.Objects, &segdv1.Object{Id: id, Label: o.GetLabel(), Area: o.GetArea(), Counts: o.GetCounts()})
	}
	return own
}

// annotationFile is m with its picture as an annotation.
func annotationFile(m *segdv1.MaskFrame, picture []byte) ([]byte, error) {
	img, err := draw.Labels(m)
	if err != nil {
		return nil, err
	}
	var ids bytes.Buffer
	if err := png.Encode(&ids, img); err != nil {
		return nil, err
	}
	var file struct {
		annotation.Annotation
		Mask []byte `json:"mask"`
	}
	file.Width, file.Height, file.Picture, file.Mask = int(m.GetWidth()), int(m.GetHeight()), picture, ids.Bytes()
	for _, o := range m.GetObjects() {
		if o.GetArea() > 0 {
			file.Objects = append(file.Objects, annotation.Object{ID: o.GetId(), Label: o.GetLabel()})
		}
	}
	return json.Marshal(file)
}
