package measure

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/segd/segd/config"
	"github.com/segd/segd/features/dnn"
	"github.com/segd/segd/internal/cli"
	"github.com/segd/segd/internal/configured"
)

func modelCommand(std cli.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "model",
		Short: "Feature models",
		Example: "  segd model list\n" +
			"  segd model check nanodet.onnx",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(modelCheckCommand(std), modelListCommand(std))
	return cmd
}

func modelCheckCommand(std cli.Streams) *cobra.Command {
	var cfg config.Model
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check FILE",
		Short: "Try whether a model loads, in a process of its own",
		Long: "OpenCV ends the process that gives it a model it dislikes, so a child process\n" +
			"tries it. FILE is ONNX, or Caffe with its .prototxt beside it.",
		Example: "  segd model check nanodet.onnx --taps backbone.3\n" +
			"  segd model check net.caffemodel --json",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
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
	cmd.Flags().StringSliceVar(&cfg.Taps, "taps", nil, "layers to read (default the model's outputs)")
	cmd.Flags().StringVar(&cfg.Device, "device", "auto", "what computes it: auto, cpu or cuda")
	cmd.Flags().IntVar(&cfg.ShortSide, "short-side", config.DefaultShortSide, "shorter side of the picture the model sees, in pixels")
	return cmd
}

func modelListCommand(std cli.Streams) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the models in this binary",
		Example: "  segd model list",
		Args:    cobra.NoArgs,
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
	fmt.Fprintf(w, "\n  computed by %s on %s", info.Engine, info.Device)
	for _, e := range info.Engines {
		switch {
		case e.Error != "":
			fmt.Fprintf(w, "\n  not by %s: %s", e.Name, e.Error)
		case e.Milliseconds > 0:
			fmt.Fprintf(w, "\n  %s %s takes %.1f ms", e.Name, e.Version, e.Milliseconds)
		}
	}
	fmt.Fprintln(w)
	for _, tap := range info.Taps {
		shape := strings.Trim(strings.ReplaceAll(fmt.Sprint(tap.Shape), " ", "×"), "[]")
		if _, err := fmt.Fprintf(w, "  tap %s  %s\n", tap.Name, shape); err != nil {
			return err
		}
	}
	return nil
}
