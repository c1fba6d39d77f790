// Package config reads segd's one YAML file.
//
// In goes the file's bytes and the environment; out comes a Config with every
// default filled in and every field checked, or Faults: all that is wrong, each
// with its file, line and column and what would be accepted. Unknown keys are
// faults. A scalar outside the cameras list may be overridden by an environment
// variable named after its path: http.addr by SEGD_HTTP_ADDR.
//
// The package holds no state; every function may be called from any goroutine.
// It knows YAML and the shape of the file only. What a value means to the
// component it is for (whether the camera answers, whether the model loads) is
// for that component to say; `segd check` asks them all.
package config
