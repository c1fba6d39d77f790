package configured

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/segd/segd/config"
	"github.com/segd/segd/features"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/internal/cli"
)

// Detector finds things in pictures. Whoever opened it closes it.
type Detector interface {
	Detect(dst []features.Detection, bgr []byte, width, height int, pixelAspect float64) ([]features.Detection, error)
	String() string // says what it is
	Close() error
}

// OpenDetector opens the configured detector; nil if there is none, and the model's own heads detect. What computes it
// is as the model's.
func OpenDetector(cfg *config.Config) (Detector, error) {
	opt := dnn.DetectorOptions{Score: features.LeastScore, NamesFile: cfg.Detector.Names, Computing: computing(cfg.Model)}
	var d Detector
	var err error
	switch {
	case cfg.Detector.Path != "":
		d, err = dnn.OpenDetector(cfg.Detector.Path, opt)
	case opt.NamesFile != "":
		err = fmt.Errorf("names %s without a path; the model's own heads know COCO's", opt.NamesFile)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, cli.Usage(fmt.Errorf("detector: %w", err))
	}
	return d, nil
}

// heads is a Detector by a feature model's heads, which see all of a picture.
type heads struct {
	*dnn.Model
	classes []string // that are wanted
	score   float64
	sights  sync.Pool // of *features.Sight
}

// Heads finds these classes, of a score or more, by a model, which its Close closes; no classes: all.
func Heads(m *dnn.Model, classes []string, score float64) (Detector, error) {
	info := m.Info()
	if len(info.Classes) == 0 {
		return nil, fmt.Errorf("model %s has no heads; want one with NanoDet's, or detector.path", info.Path)
	}
	for _, c := range classes {
		if !slices.Contains(info.Classes, c) {
			return nil, fmt.Errorf("class %q; the model knows %s", c, strings.Join(info.Classes, ", "))
		}
	}
	d := &heads{Model: m, classes: classes, score: score}
	d.sights.New = func() any { return new(features.Sight) }
	return d, nil
}

// otherThing is the intersection over union beyond which boxes of two classes are of one thing: a van found as a
// car and as a truck.
const otherThing = 0.8

func (d *heads) Detect(dst []features.Detection, bgr []byte, width, height int, pixelAspect float64) ([]features.Detection, error) {
	s := d.sights.Get().(*features.Sight)
	defer d.sights.Put(s)
	var err error
	dst = dst[:0]
	for _, large := range []bool{false, true} {
		if *s, err = d.Features(*s, bgr, width, height, features.View{Large: large, PixelAspect: pixelAspect}); err != nil {
			return nil, err
		}
		for _, f := range s.Found {
			if f.Score >= d.score && (len(d.classes) == 0 || slices.Contains(d.classes, f.Class)) {
				dst = append(dst, f)
			}
		}
	}
	return features.Suppress(dst, features.SameThing, otherThing), nil
}

func (d *heads) String() string {
	info := d.Info()
	return fmt.Sprintf("%s with %d classes, by %s", filepath.Base(info.Path), len(info.Classes), info.Engine)
}
