package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/internal/waitfor"
)

// What a path leads to need not be a file: a pipe or a terminal never ends. A user who names one is told so
// within the request, no other request waits, and SIGTERM ends segd.
func TestStrangeFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := func(name string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, syscall.Mkfifo(path, 0o600))
		return path
	}
	pipe := fifo("pipe")
	mixed := filepath.Dir(fifo("mixed/a.jpg"))
	folder := daemontest.Pictures(t, 5)
	r := newReloading(t, "", fmt.Sprintf("{name: attic, url: 'dir:%s', loop: true, fps: 5}", folder),
		fmt.Sprintf("{name: mixed, url: 'dir:%s', loop: true, fps: 5}", mixed))

	segd := startProcess(t, "run", "-c", r.file)
	listen(t, r.nats)

	ask := func(path, body string, want int, says ...string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), waitfor.Limit) // requests have 15 s at most
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+r.http+"/api/v1/"+path, strings.NewReader(body))
		require.NoError(t, err)
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Errorf("%s %s: %v", path, body, err)
			return
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		assert.NoError(t, err)
		assert.Equal(t, want, resp.StatusCode, "%s %s: status: %s", path, body, text)
		for _, word := range says {
			assert.Contains(t, string(text), word, "%s %s: the answer", path, body)
		}
	}
	const only = "accepted: a regular file"
	for _, path := range []string{pipe, "/dev/ptmx", "/dev/zero", dir} {
		ask("cameras", fmt.Sprintf(`{"name": "new", "url": "dir:%s", "annotation": %q}`, folder, path), http.StatusUnprocessableEntity, "/annotation", only)
	}
	ask("cameras/test", fmt.Sprintf(`{"url": "dir:%s"}`, mixed), http.StatusUnprocessableEntity, "/url", "a named pipe", only)
	ask("cameras/test", fmt.Sprintf(`{"url": "file:%s"}`, pipe), http.StatusUnprocessableEntity, "/url", "a named pipe", only)
	ask("cameras/test", fmt.Sprintf(`{"url": "dir:%s"}`, pipe), http.StatusUnprocessableEntity, "/url", "folder")

	r.write(fmt.Sprintf("{name: attic, url: 'dir:%s', loop: true, fps: 5, annotation: /dev/ptmx}", folder))
	ask("config/reload", "", http.StatusUnprocessableEntity, "/cameras/0/annotation", only)
	r.head += fmt.Sprintf("detector: {names: %q}\n", pipe)
	r.write(fmt.Sprintf("{name: attic, url: 'dir:%s', loop: true, fps: 5}", folder))
	ask("config/reload", "", http.StatusUnprocessableEntity, "detector.names", only)
	require.NoError(t, os.Rename(fifo("segd.yaml"), r.file))
	ask("config/reload", "", http.StatusUnprocessableEntity, "a named pipe", only)
	segd.signal(syscall.SIGHUP)
	segd.signal(syscall.SIGTERM)
	assert.NoError(t, segd.end(), "segd ended with")

	// At the start too.
	for _, args := range [][]string{{"run", "-c", r.file}, {"check", "-c", r.file}} {
		err := run(t.Context(), args, strings.NewReader(""), io.Discard, io.Discard)
		assert.ErrorContains(t, err, only, "%v", args)
	}
}
