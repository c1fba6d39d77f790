package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// FindProgram is the path of another of segd's programs: the one beside this program, or else the first in PATH. why
// is for the error if there is none: what wants it, and where to get it.
func FindProgram(name, why string) (path string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	beside := filepath.Join(filepath.Dir(self), name)
	path, err = exec.LookPath(beside)
	if errors.Is(err, os.ErrNotExist) {
		path, err = exec.LookPath(name)
	}
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%s is not installed: there is no %s, and none in PATH; %s", name, beside, why)
	}
	return path, err
}
