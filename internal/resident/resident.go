// Package resident tells how much memory this process has in use, and how much processor time it has used.
package resident

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// CPUTime is what this process has used, in user and kernel mode (getrusage(2)).
func CPUTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it has no other reason than a wrong argument
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

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
