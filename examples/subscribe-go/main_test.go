package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/segd/segd/bus"
	"github.com/segd/segd/bus/segdv1"
)

// The program itself, built and run against a real server.
func TestProgram(t *testing.T) {
	b, err := bus.Open(t.Context(), bus.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}()
	program := filepath.Join(t.TempDir(), "subscribe-go")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), program, b.URL())
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make(chan string, 1)
	go func() {
		s := bufio.NewScanner(stdout)
		s.Scan()
		line <- s.Text()
	}()
	defer func() {
		if err := cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		_ = cmd.Wait() // killed
	}()
	// It subscribes some time after it starts; until then nobody listens.
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		err := b.PublishMask(&segdv1.MaskFrame{Camera: "demo", Sequence: 41, Width: 4, Height: 3,
			Objects: []*segdv1.Object{{Id: 1, Label: "person", Counts: "32112"}}})
		if err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-line:
			if want := "demo 41 person 5"; got != want {
				t.Errorf("it prints %q, want %q", got, want)
			}
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Fatal("it prints nothing")
}
