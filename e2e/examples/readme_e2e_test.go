//go:build e2e

package examples

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/e2e/harness"
)

// program is one that a README has in whole.
var program = regexp.MustCompile("(?ms)^```(python|js|go)\n(.*?)^```$")

// The programs of the READMEs run as printed, but for the port, and print each object's number of pixels.
func TestReadmes(t *testing.T) {
	const printed = "nats://127.0.0.1:4222"
	url := harness.Demo(t, "--superpixels", "500").NATS
	root := harness.Root(t)
	commands := map[string]func(t *testing.T, code string) *exec.Cmd{
		"python": func(t *testing.T, code string) *exec.Cmd {
			return exec.CommandContext(t.Context(), python(t), write(t, "main.py", code))
		},
		"js": func(t *testing.T, code string) *exec.Cmd {
			path := write(t, "main.mjs", code)
			if err := os.Symlink(filepath.Join(root, "clients", "examples", "subscribe-js", "node_modules"), filepath.Join(filepath.Dir(path), "node_modules")); err != nil {
				t.Fatal(err)
			}
			return exec.CommandContext(t.Context(), "node", path)
		},
		"go": func(t *testing.T, code string) *exec.Cmd {
			path := write(t, "main.go", code)
			built := filepath.Join(filepath.Dir(path), "main")
			build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", built, path)
			build.Dir = root // whose module it is of
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			return exec.CommandContext(t.Context(), built)
		},
	}
	seen := 0
	for _, readme := range []string{"README.md", "clients/python/README.md", "clients/js/README.md"} {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(readme)))
		require.NoError(t, err)
		for _, m := range program.FindAllStringSubmatch(string(text), -1) {
			seen++
			t.Run(readme+" "+m[1], func(t *testing.T) {
				code := strings.Replace(m[2], printed, url, 1)
				if code == m[2] {
					t.Fatalf("it does not connect to %s:\n%s", printed, code)
				}
				prints(t, commands[m[1]](t, code), regexp.MustCompile(`^\d+ .+ [1-9]\d*$`))
				// Another camera is not there, which is said.
				prints(t, commands[m[1]](t, strings.Replace(code, `"demo"`, `"gaet"`, 1)), regexp.MustCompile("serves.*gaet.*home/demo"))
			})
		}
	}
	assert.Equal(t, 6, seen, "programs")
}

// write makes a file in a folder of its own, and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// prints runs a program until it has printed a line of that form.
func prints(t *testing.T, cmd *exec.Cmd, line *regexp.Regexp) {
	t.Helper()
	out, in, err := os.Pipe()
	require.NoError(t, err)
	defer out.Close()
	cmd.Stdout, cmd.Stderr = in, in
	err = cmd.Start()
	_ = in.Close() // the program has its own
	require.NoError(t, err)
	defer func() { _ = cmd.Wait() }() // it was killed
	defer func() { _ = cmd.Process.Kill() }()
	_ = out.SetReadDeadline(time.Now().Add(time.Minute))
	var all strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if line.MatchString(lines.Text()) {
			return
		}
		all.WriteString(lines.Text() + "\n")
	}
	t.Errorf("%s prints no line like %s, but\n%s", cmd, line, all.String())
}
