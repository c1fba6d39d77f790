package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/segd/segd/config"
)

// Segd is a segd on ports of its own.
type Segd struct {
	*Process
	// Page and NATS are URLs, the page's with a slash at the end.
	Page, NATS string
	// Config is its file; empty: the demo, which has none.
	Config string

	tb         testing.TB
	name, path string
	args       []string
}

// How long segd may take until its API answers, and the demo to its first mask; it
// compresses its clip first.
const (
	StartLimit = time.Minute
	DemoLimit  = 3 * time.Minute
)

// Run starts segd with a configuration, YAML, and waits until its API answers. Without
// sections http and nats it gets free ports.
func Run(tb testing.TB, yaml string, args ...string) *Segd {
	tb.Helper()
	return RunAs(tb, "segd", yaml, args...)
}

// RunAs is Run of one of several, which says what it says to NAME.log.
func RunAs(tb testing.TB, name, yaml string, args ...string) *Segd {
	tb.Helper()
	addrs := FreeAddrs(tb, 2)
	for i, section := range []string{"http", "nats"} {
		if !strings.Contains("\n"+yaml, "\n"+section+":") {
			yaml = fmt.Sprintf("%s: {addr: '%s'}\n%s", section, addrs[i], yaml)
		}
	}
	s := &Segd{Config: filepath.Join(tb.TempDir(), "segd.yaml")}
	parsed, err := config.Parse(s.Config, []byte(yaml), os.Environ())
	if err != nil {
		tb.Fatalf("harness: %v", err)
	}
	if err := os.WriteFile(s.Config, []byte(yaml), 0o600); err != nil {
		tb.Fatal(err)
	}
	s.Page, s.NATS = "http://"+parsed.HTTP.Addr+"/", parsed.NATS.URL
	if s.NATS == "" {
		s.NATS = "nats://" + parsed.NATS.Addr
	}
	s.tb, s.name, s.path, s.args = tb, name, Program(tb), append([]string{"run", "-c", s.Config}, args...)
	if err := s.Start(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return s
}

// Demo starts the demo; args are added to its command line. It does not wait for
// anything: the clip begins to play by itself.
func Demo(tb testing.TB, args ...string) *Segd {
	tb.Helper()
	addrs := FreeAddrs(tb, 2)
	s := &Segd{Page: "http://" + addrs[0] + "/", NATS: "nats://" + addrs[1]}
	s.Process = Start(tb, "segd", Program(tb), append([]string{"demo", "--addr", addrs[0], "--nats", addrs[1]}, args...)...)
	return s
}

// Start starts what Run has made again after it has ended, and waits until its API
// answers.
func (s *Segd) Start(ctx context.Context) (err error) {
	if s.Process, err = start(s.tb, s.name, exec.Command(s.path, s.args...)); err != nil {
		return err
	}
	return s.Wait(ctx, StartLimit, "segd's API", func(ctx context.Context) error {
		_, err := Get(ctx, s.Page+"livez")
		return err
	})
}

// Wait is the package's Wait that ends early if segd does.
func (s *Segd) Wait(ctx context.Context, limit time.Duration, what string, ask func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel(nil)
	watch.Go(func() {
		select {
		case <-s.Exited:
			cancel(errors.New("segd has ended"))
		case <-ctx.Done():
		}
	})
	err := Wait(ctx, limit, what, ask)
	if err != nil && context.Cause(ctx) != nil {
		err = fmt.Errorf("%w; %w", context.Cause(ctx), err)
	}
	return err
}

// Published waits until every camera has published masks.
func (s *Segd) Published(ctx context.Context, limit time.Duration) error {
	return s.Wait(ctx, limit, "masks", func(ctx context.Context) error {
		now, err := s.Metrics(ctx)
		if err != nil {
			return err
		}
		cameras := now.Values("segd_camera_up", "camera")
		if len(cameras) == 0 {
			return errors.New("no camera yet")
		}
		for camera := range cameras {
			if now.Sum("segd_frames_total", "camera", camera, "outcome", "published") == 0 {
				return fmt.Errorf("camera %s has published none", camera)
			}
		}
		return nil
	})
}

// Get returns what a URL answers; another status than 200 is an error.
func Get(ctx context.Context, url string) ([]byte, error) {
	status, body, err := Ask(ctx, url)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s: %d: %.200s", url, status, body)
	}
	return body, err
}

// Ask returns what a URL answers, with whatever status.
func Ask(ctx context.Context, url string) (status int, body []byte, err error) {
	return AskAs(ctx, url, "")
}

// AskAs is Ask with a token; empty: without one.
func AskAs(ctx context.Context, url, token string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err = io.ReadAll(resp.Body)
	return resp.StatusCode, body, err
}
