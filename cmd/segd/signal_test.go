package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/segd/segd/demo"
	"github.com/segd/segd/internal/cli/clitest"
)

// SIGHUP asks for what segd cannot do yet: it says so and goes on, and SIGTERM still
// ends it in order.
func TestHangup(t *testing.T) {
	t.Parallel()
	cam := camera(t, demo.Config{})
	httpAddr, natsAddr := freeAddr(t), freeAddr(t)
	config := quick(httpAddr, natsAddr) + "cameras: [{name: gate, transport: tcp, url: '" + cam.URL() + "'}]\n"

	var out, errs clitest.Output
	segd := exec.CommandContext(t.Context(), os.Args[0], "run", "-c", clitest.File(t, "segd.yaml", config))
	segd.Stdout, segd.Stderr = &out, &errs
	if err := segd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- segd.Wait() }()
	t.Cleanup(func() { _ = segd.Process.Kill(); <-ended })
	tell := func(s os.Signal) {
		t.Helper()
		if err := segd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
	h := listen(t, natsAddr)
	more := func(what string) {
		t.Helper()
		from := len(h.of("gate"))
		clitest.Until(t, time.Minute, what, func() bool {
			select {
			case err := <-ended:
				ended <- err
				t.Fatalf("segd ended with %v; it wrote\n%s%s", err, out.String(), errs.String())
			default:
			}
			return len(h.of("gate")) >= from+5
		})
	}
	more("masks")
	for range 2 {
		tell(syscall.SIGHUP)
		more("masks after SIGHUP")
	}
	clitest.Until(t, time.Minute, "two lines of it", func() bool {
		return strings.Count(errs.String(), "SIGHUP is ignored") == 2
	})
	tell(syscall.SIGTERM)
	select {
	case err := <-ended:
		ended <- err
		if err != nil || !strings.Contains(out.String(), "gate after") { // the summary is written after draining
			t.Errorf("segd ended with %v; it wrote\n%s%s", err, out.String(), errs.String())
		}
	case <-time.After(time.Minute):
		t.Fatal("SIGTERM does not end it")
	}
}
