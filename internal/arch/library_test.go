package arch

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// libraries are packages for programs that want no more of segd than these.
var libraries = []string{"mask", "solver", "solver/kernel", "solver/loss", "solver/mrf"}

// goTool runs a go command in dir and returns what it prints.
func goTool(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// A program that uses the libraries builds without cgo, and of all that segd requires it downloads gonum, and what the
// libraries' own tests import.
func TestLibrariesAreLight(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	here := strings.TrimSpace(goTool(t, root, nil, "env", "GOMODCACHE"))
	dir := t.TempDir()
	cache := filepath.Join(dir, "cache")
	env := []string{
		"CGO_ENABLED=0", "GOFLAGS=-modcacherw -trimpath", "GOMODCACHE=" + cache, "GOSUMDB=off", "GOTOOLCHAIN=local", "GOWORK=off",
		// What building segd has downloaded, and else from where it would be.
		"GOPROXY=file://" + filepath.ToSlash(here) + "/cache/download," + strings.TrimSpace(goTool(t, root, nil, "env", "GOPROXY")),
	}
	program := "package main\n\nimport (\n"
	for _, p := range libraries {
		program += "\t_ \"" + module + "/" + p + "\"\n"
	}
	for name, text := range map[string]string{
		"main.go": program + ")\n\nfunc main() {}\n",
		"go.mod":  "module example.com/user\n\ngo 1.26.0\n\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + root + "\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	goTool(t, dir, env, "mod", "tidy")
	goTool(t, dir, env, "build", "-o", os.DevNull, ".")

	for path := range strings.FieldsSeq(goTool(t, dir, env, "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".")) {
		own, ours := strings.CutPrefix(path, module+"/")
		if !(ours && (own == "mask" || own == "solver" || strings.HasPrefix(own, "solver/"))) && !strings.HasPrefix(path, gonum+"/") && path != "example.com/user" {
			t.Errorf("the libraries are built of %s; want the standard library, gonum and themselves", path)
		}
	}
	zips, err := filepath.Glob(filepath.Join(cache, "cache/download/*/*/@v/*.zip"))
	require.NoError(t, err)
	deeper, err := filepath.Glob(filepath.Join(cache, "cache/download/*/*/*/@v/*.zip"))
	require.NoError(t, err)
	var downloaded []string
	for _, zip := range append(zips, deeper...) {
		name, err := filepath.Rel(filepath.Join(cache, "cache/download"), filepath.Dir(filepath.Dir(zip)))
		require.NoError(t, err)
		downloaded = append(downloaded, filepath.ToSlash(name))
	}
	want := append(slices.Clone(anyTest), gonum)
	slices.Sort(downloaded)
	slices.Sort(want)
	assert.Equal(t, want, downloaded, "downloaded")
}

// A program that subscribes by package bus builds without C: it needs neither OpenCV nor FFmpeg.
func TestSubscribersNeedNoC(t *testing.T) {
	withC := func(packages ...string) string {
		t.Helper()
		list := []string{"list", "-deps", "-f", "{{if and .CgoFiles (not .Standard)}}{{.ImportPath}}{{end}}"}
		return strings.TrimSpace(goTool(t, "../..", []string{"CGO_ENABLED=1"}, append(list, packages...)...))
	}
	assert.Equal(t, "", withC("./bus", "./mask", "./clients/examples/subscribe-go"), "a subscriber is built of C code of")
	if c := withC("./features/dnn"); c == "" {
		t.Error("no C code is found where there is some")
	}
}
