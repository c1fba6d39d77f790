package dnn

import "strings"

// Build is what is known of the OpenCV that this process runs with; nothing if it was built without (build tag opencv).
type Build struct {
	// Version is such as "4.6.0"; "": there is none.
	Version string `json:"version"`
	// CPU is the least instruction set it needs, Dispatched those it uses where the
	// machine has them.
	CPU        string `json:"cpu"`
	Dispatched string `json:"dispatched"`
	// Parallel is what its threads come from.
	Parallel string `json:"parallel"`
	// CUDA and CUDNN tell whether it was built with them.
	CUDA  bool `json:"cuda"`
	CUDNN bool `json:"cudnn"`
	// CUDADevices counts those it can use: 0 without CUDA in it, -1 if the driver is
	// missing or too old for it.
	CUDADevices int `json:"cuda_devices"`
}

// parseBuild reads cv::getBuildInformation's "  Key:   value" lines.
func parseBuild(text string) Build {
	value := func(key string) string {
		for line := range strings.Lines(text) {
			name, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
			if ok && name == key {
				return strings.TrimSpace(rest)
			}
		}
		return ""
	}
	yes := func(key string) bool { return strings.HasPrefix(value(key), "YES") }
	return Build{
		CPU: value("Baseline"), Dispatched: value("Dispatched code generation"),
		Parallel: value("Parallel framework"), CUDA: yes("NVIDIA CUDA"), CUDNN: yes("cuDNN"),
	}
}
