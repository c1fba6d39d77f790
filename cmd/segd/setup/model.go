package setup

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
	"github.com/segd/segd/cmd/segd/configured"
	"github.com/segd/segd/config"
	"github.com/segd/segd/features/dnn"
)

func modelCommand(std cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "model",
		Short: "Feature models and detectors",
		Example: "  segd model list\n" +
			"  segd model check nanodet.onnx\n" +
			"  segd model check --detector yolox_nano.onnx",
		Args: cli.Args,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(modelCheckCommand(std), modelListCommand(std))
	return cmd
}

func modelCheckCommand(std cli.Streams) *cobra.Command {
	var cfg config.Model
	var asJSON, detector bool
	var names string
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Try whether a model loads, in a process of its own",
		Long: "OpenCV ends the process that gives it a model it dislikes, so a child process\n" +
			"tries it. FILE is ONNX, or Caffe with its .prototxt beside it. With --detector it is\n" +
			"ONNX with the outputs of a NanoDet, YOLOX, YOLOv8, YOLOv10 or RT-DETR.",
		Example: "  segd model check nanodet.onnx --taps backbone.3\n" +
			"  segd model check net.caffemodel --json\n" +
			"  segd model check --detector yolov8n.onnx --names classes.txt",
		Args: cli.Args,
		RunE: func(cmd *cobra.Command, args []string) error {
			if detector {
				info, err := dnn.ProbeDetector(cmd.Context(), args[0], dnn.DetectorOptions{NamesFile: names, Computing: dnn.Computing{Device: cfg.Device}})
				if err != nil {
					return cli.Usage(err)
				}
				if asJSON {
					return cli.WriteJSON(std.Out, info)
				}
				return describeDetector(std.Out, info)
			}
			info, err := dnn.Probe(cmd.Context(), args[0], configured.ModelOptions(cfg))
			if err != nil {
				return cli.Usage(err)
			}
			if asJSON {
				return cli.WriteJSON(std.Out, info)
			}
			return describeModel(std.Out, info)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what is known of it, all layers included, as JSON")
	cmd.Flags().BoolVar(&detector, "detector", false, "FILE is a detector")
	cmd.Flags().StringVar(&names, "names", "", "file of the names of a detector's classes, one a line (default COCO's 80)")
	cmd.Flags().StringSliceVar(&cfg.Taps, "taps", nil, "layers to read (default the model's outputs)")
	cmd.Flags().StringVar(&cfg.Device, "device", "auto", "what computes it: auto, cpu, cuda or tensorrt")
	cmd.Flags().IntVar(&cfg.ShortSide, "short-side", config.DefaultShortSide, "shorter side of the picture the model sees, in pixels")
	return cmd
}

func modelListCommand(std cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the models in this binary",
		Example: "  segd model list",
		Args:    cli.Args,
		RunE: func(*cobra.Command, []string) (err error) {
			m, err := dnn.Embedded(dnn.Options{})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, m.Close()) }()
			fmt.Fprintln(std.Out, "in the binary, Apache-2.0, used where model.path is empty:")
			return describeModel(std.Out, m.Info())
		},
	}
}

func describeModel(w io.Writer, info dnn.Info) error {
	size := "any multiples of 32"
	if info.InputWidth > 0 {
		size = fmt.Sprintf("%d×%d", info.InputWidth, info.InputHeight)
	}
	fmt.Fprintf(w, "%s  %s  sha256 %s\n", info.Path, info.Format, info.SHA256)
	fmt.Fprintf(w, "  input %s, %d channels", size, info.Channels())
	if info.Milliseconds > 0 {
		fmt.Fprintf(w, ", %.1f ms at %d×%d", info.Milliseconds, info.NominalWidth, info.NominalHeight)
	}
	fmt.Fprintln(w)
	describeEngines(w, info.Engine, info.Device, info.Engines)
	if len(info.Classes) > 0 {
		if err := describeClasses(w, info.Classes); err != nil {
			return err
		}
	}
	for _, tap := range info.Taps {
		shape := strings.Trim(strings.ReplaceAll(fmt.Sprint(tap.Shape), " ", "×"), "[]")
		if _, err := fmt.Fprintf(w, "  tap %s  %s\n", tap.Name, shape); err != nil {
			return err
		}
	}
	return nil
}

func describeDetector(w io.Writer, info dnn.DetectorInfo) error {
	fmt.Fprintf(w, "%s  %s  sha256 %s\n", info.Path, info.Layout, info.SHA256)
	gives := "boxes"
	if info.Masks {
		gives = "boxes and masks"
	}
	fmt.Fprintf(w, "  %s, input %d×%d, %d classes", gives, info.InputWidth, info.InputHeight, len(info.Classes))
	if info.Milliseconds > 0 {
		fmt.Fprintf(w, ", %.1f ms", info.Milliseconds)
	}
	fmt.Fprintln(w)
	describeEngines(w, info.Engine, info.Device, info.Engines)
	return describeClasses(w, info.Classes)
}

func describeClasses(w io.Writer, classes []string) error {
	_, err := fmt.Fprintf(w, "  classes: %s\n", strings.Join(classes, ", "))
	return err
}

func describeEngines(w io.Writer, engine, device string, engines []dnn.EngineInfo) {
	fmt.Fprintf(w, "  computed by %s on %s\n", engine, device)
	for _, e := range engines {
		switch {
		case e.Error != "":
			fmt.Fprintf(w, "  not by %s on %s: %s\n", e.Name, e.Device, e.Error)
		case e.Milliseconds > 0:
			fmt.Fprintf(w, "  %s %s takes %.1f ms on %s\n", e.Name, e.Version, e.Milliseconds, e.Device)
		}
	}
}
