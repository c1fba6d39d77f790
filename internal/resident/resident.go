// Package resident tells how much memory this process has in use.
package resident

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

// MB returns the process' resident memory in MiB from
// /proc/self/statm (proc(5)).
func MB() (float64, error) {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	var size, resident int64
	if _, err := fmt.Fscan(bytes.NewReader(data), &size, &resident); err != nil {
		return 0, errors.Join(errors.New("/proc/self/statm"), err)
	}
	return float64(resident) * float64(os.Getpagesize()) / (1 << 20), nil
}
