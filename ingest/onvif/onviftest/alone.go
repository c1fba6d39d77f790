package onviftest

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// network is held by one process at a time: each listener hears the probes of all.
var network struct {
	sync.Mutex
	users int
	file  *os.File
}

// alone waits until no other process's tests use the multicast group, and keeps them out until t ends.
func alone(t testing.TB) {
	t.Helper()
	network.Lock()
	defer network.Unlock()
	if network.users == 0 {
		file, err := os.OpenFile(filepath.Join(os.TempDir(), "segd-onviftest.lock"), os.O_CREATE|os.O_RDWR, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
			t.Fatal(err)
		}
		network.file = file
	}
	network.users++
	t.Cleanup(func() {
		network.Lock()
		defer network.Unlock()
		if network.users--; network.users == 0 {
			_ = network.file.Close() // which lets go of the lock
		}
	})
}
