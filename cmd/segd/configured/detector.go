package configured

import (
	"fmt"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/config"
	"github.com/segd/segd/features"
	"github.com/segd/segd/features/dnn"
)

// Detector finds things in pictures. Its opener closes it.
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
