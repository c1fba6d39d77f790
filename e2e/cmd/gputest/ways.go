package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/segd/segd/features/dnn"
)

// A way is what computes the network.
type way struct {
	Name   string `json:"name"`
	Engine string `json:"engine"`
	Device string `json:"device"`
	FP16   bool   `json:"fp16"`
}

// ways are all there are, the processor's first. What the others make is compared with the first's.
var ways = []way{
	{"opencv-cpu", dnn.EngineOpenCV, dnn.DeviceCPU, false},
	{"onnxruntime-cpu", dnn.EngineONNXRuntime, dnn.DeviceCPU, false},
	{"opencv-cuda", dnn.EngineOpenCV, dnn.DeviceCUDA, false},
	{"opencv-cuda-fp16", dnn.EngineOpenCV, dnn.DeviceCUDA, true},
	{"onnxruntime-cuda", dnn.EngineONNXRuntime, dnn.DeviceCUDA, false},
	{"tensorrt", dnn.EngineONNXRuntime, dnn.DeviceTensorRT, false},
	{"tensorrt-fp16", dnn.EngineONNXRuntime, dnn.DeviceTensorRT, true},
}

func (w way) card() bool { return w.Device != dnn.DeviceCPU }

// computing is how segd is told to compute so. OpenCV is linked, so the library is nothing to it.
func (w way) computing(library string, batch int) dnn.Computing {
	if w.Engine == dnn.EngineOpenCV {
		library = ""
	}
	return dnn.Computing{Engine: w.Engine, EngineLibrary: library, Device: w.Device, FP16: w.FP16, Batch: batch}
}

// flags are computing as segd's commands take it.
func (w way) flags(library string) []string {
	c := w.computing(library, 0)
	flags := []string{"--engine", c.Engine, "--device", c.Device}
	if c.EngineLibrary != "" {
		flags = append(flags, "--engine-library", c.EngineLibrary)
	}
	if c.FP16 {
		flags = append(flags, "--fp16")
	}
	return flags
}

// How far features may be apart, the norm of the difference for the norm, and how far the mean J.
const (
	mostApart, mostApartFP16 = 1e-3, 3e-2
	mostJ, mostJFP16         = 0.005, 0.01
)

func (w way) mostApart() float64 {
	if w.FP16 {
		return mostApartFP16
	}
	return mostApart
}

func (w way) mostJ() float64 {
	if w.FP16 {
		return mostJFP16
	}
	return mostJ
}

// tensorRTLibraries are what NVIDIA alone has, so that a machine with everything else may lack it.
var tensorRTLibraries = []string{"libnvinfer", "libnvonnxparser"}

// absent says that a machine with a card has not got what a way wants, which is no failure; "" if it has. OpenCV was built
// with CUDA or not, folders are where ONNX Runtime's library may be, and refused is why the model could not be opened.
func (w way) absent(cuda bool, folders []string, refused string) string {
	if w.Engine == dnn.EngineOpenCV {
		if w.card() && !cuda {
			return "OpenCV is built without CUDA"
		}
		return ""
	}
	if !w.card() {
		return ""
	}
	provider := "libonnxruntime_providers_" + w.Device + ".so"
	at := slices.IndexFunc(folders, func(folder string) bool { return isThere(filepath.Join(folder, "libonnxruntime.so")) })
	switch {
	case at < 0:
		return "no libonnxruntime.so in " + strings.Join(folders, ", ")
	case !isThere(filepath.Join(folders[at], provider)):
		return fmt.Sprintf("no %s in %s", provider, folders[at])
	case w.Device == dnn.DeviceTensorRT && slices.ContainsFunc(tensorRTLibraries, func(l string) bool { return strings.Contains(refused, l) }):
		return "TensorRT's libraries are not there: " + refused
	}
	return ""
}

// libraryFolders are where ONNX Runtime's library may be.
func libraryFolders(library string) []string {
	if library != "" {
		return []string{filepath.Dir(library)}
	}
	return dnn.LibraryFolders()
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
