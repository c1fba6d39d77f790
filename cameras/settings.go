package cameras

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"

	"github.com/segd/segd/annotation"
	"github.com/segd/segd/config"
	"github.com/segd/segd/ingest"
	"github.com/segd/segd/ingest/codec"
	"github.com/segd/segd/internal/files"
	"github.com/segd/segd/objects/privacy"
)

// Source is how a camera is received.
func Source(cam config.Camera, log *slog.Logger) ingest.Config {
	return ingest.Config{
		Camera: cam.Name, URL: cam.URL, Transport: cam.Transport, Decode: codec.Device(cam.Decode),
		Clock: cam.Clock, Fingerprint: cam.Fingerprint, Rotate: cam.Rotate, Aspect: cam.AspectRatio(), Deinterlace: cam.Deinterlace, FPS: cam.FPS, Loop: cam.Loop, Logger: log,
		Ignore: privacy.Ignore(cam.Ignored()),
	}
}

// Privacy is what a camera's pictures do not show.
func Privacy(p config.Privacy) privacy.Config {
	return privacy.Config{Blur: p.Blur, Fill: p.Fill, ExceptKept: p.Except == config.Kept, Margin: p.MarginShare(), Operators: p.Show == config.ShowOperator}
}

// ReadAnnotation reads an annotation that the configuration names.
func ReadAnnotation(ctx context.Context, path string) (*annotation.Annotation, error) {
	text, err := files.Read(ctx, path, files.Annotation)
	if err != nil {
		return nil, fmt.Errorf("annotation: %w", err)
	}
	a, err := annotation.Parse(bytes.NewReader(text))
	if err == nil && a.Picture != nil {
		_, err = a.BGR() // all of it is there
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}
