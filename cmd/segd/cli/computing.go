package cli

import (
	"github.com/spf13/cobra"

	"github.com/segd/segd/features/dnn"
)

// AddComputing adds the flags that say what computes the model, and the detector.
func AddComputing(cmd *cobra.Command, c *dnn.Computing) {
	flags := cmd.Flags()
	flags.StringVar(&c.Engine, "engine", dnn.EngineAuto, "what computes the model: auto, opencv or onnxruntime")
	flags.StringVar(&c.EngineLibrary, "engine-library", "", "ONNX Runtime's shared library (default where segd run finds it)")
	flags.StringVar(&c.Device, "device", dnn.DeviceAuto, "and on what: auto, cpu, cuda or tensorrt")
	flags.BoolVar(&c.FP16, "fp16", false, "a card computes in half precision")
}
