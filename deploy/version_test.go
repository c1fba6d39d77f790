package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// newest is the newest version in CHANGELOG.md, which all others follow.
func newest(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../CHANGELOG.md")
	require.NoError(t, err)
	m := regexp.MustCompile(`(?m)^## ([0-9]+\.[0-9]+\.[0-9]+) - [0-9]{4}-[0-9]{2}-[0-9]{2}$`).FindSubmatch(text)
	if m == nil {
		t.Fatal("CHANGELOG.md has no version")
	}
	return string(m[1])
}

// Charts, compose files and what the Dockerfiles say to type name the image that is released.
func TestVersionsAgree(t *testing.T) {
	v := newest(t)
	for _, c := range []struct{ file, pattern string }{
		{"helm/segd/Chart.yaml", `(?m)^version: (.*)$`},
		{"helm/segd/Chart.yaml", `(?m)^appVersion: "(.*)"$`},
		{"compose/compose.yaml", `\$\{SEGD_IMAGE:-segd:([^}]*)\}`},
		{"compose/fleet.yaml", `\$\{SEGD_IMAGE:-segd:([^}]*)\}`},
		{"docker/Dockerfile", `-t segd:(\S+)`},
		{"docker/Dockerfile", ` segd:(\S+) demo`},
		{"docker/Dockerfile.cuda", `-t segd:(\S+)-cuda`},
		{"docker/Dockerfile.cuda", ` segd:(\S+)-cuda doctor`},
	} {
		text, err := os.ReadFile(filepath.FromSlash(c.file))
		require.NoError(t, err)
		m := regexp.MustCompile(c.pattern).FindSubmatch(text)
		if m == nil {
			t.Errorf("%s has nothing like %s", c.file, c.pattern)
		} else if got := string(m[1]); got != v {
			t.Errorf("%s names %s, and the newest version in CHANGELOG.md is %s", c.file, got, v)
		}
	}
}

// repository is one with scripts/version and a CHANGELOG.md in it.
type repository struct {
	t   *testing.T
	dir string
}

func newRepository(t *testing.T) repository {
	r := repository{t, t.TempDir()}
	script, err := os.ReadFile("../scripts/version")
	require.NoError(t, err)
	r.write("scripts/version", string(script))
	return r
}

func (r repository) write(name, text string) {
	r.t.Helper()
	path := filepath.Join(r.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil { //nolint:gosec // a script
		r.t.Fatal(err)
	}
}

func (r repository) command(name string, args ...string) (string, error) {
	cmd := exec.CommandContext(r.t.Context(), name, args...)
	cmd.Dir = r.dir
	// Neither this machine's settings nor a repository around.
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES="+filepath.Dir(r.dir),
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@localhost", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@localhost")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (r repository) git(args ...string) string {
	r.t.Helper()
	out, err := r.command("git", args...)
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (r repository) commit() {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", "x")
}

// build expects what scripts/version prints, with HEAD for the commit.
func (r repository) build(want string) {
	r.t.Helper()
	if strings.Contains(want, "HEAD") { //nolint:staticcheck // else there may be none
		want = strings.Replace(want, "HEAD", r.git("rev-parse", "--short=7", "HEAD"), 1)
	}
	if got, err := r.command("scripts/version"); err != nil || got != want {
		r.t.Errorf("scripts/version: %q, %v, want %q", got, err, want)
	}
}

// release expects a release, or what is said against it.
func (r repository) release(want, refused string) {
	r.t.Helper()
	got, err := r.command("scripts/version", "--release")
	switch {
	case refused == "" && (err != nil || got != want):
		r.t.Errorf("scripts/version --release: %q, %v, want %q", got, err, want)
	case refused != "" && (err == nil || !strings.Contains(got, refused)):
		r.t.Errorf("scripts/version --release: %q, %v, want %q refused", got, err, refused)
	}
}

func changelog(unreleased string, versions ...string) string {
	text := "# Changelog\n\n## Unreleased\n\n" + unreleased
	for _, v := range versions {
		text += fmt.Sprintf("\n## %s - 2026-11-24\n\n- Something.\n", v)
	}
	return text
}

func TestVersionScript(t *testing.T) {
	r := newRepository(t)
	r.write("CHANGELOG.md", changelog("- New.\n"))
	if out, err := r.command("scripts/version"); err == nil || !strings.Contains(out, "no heading") {
		t.Errorf("without a version in CHANGELOG.md: %q, %v", out, err)
	}
	r.write("CHANGELOG.md", changelog("", "0.1.0"))
	r.build("0.1.0+unknown")
	r.release("", "no git repository")

	r.git("init", "-q", "-b", "main")
	r.commit()
	r.build("0.1.0+0.gHEAD")
	r.release("0.1.0", "")
	r.commit()
	r.build("0.1.0+1.gHEAD")
	r.release("0.1.0", "")
	r.git("tag", "v0.1.0")
	r.build("0.1.0")
	r.release("0.1.0", "")

	r.write("new", "")
	r.build("0.1.0")
	r.release("", "not committed")
	r.git("add", "new")
	r.build("0.1.0+0.gHEAD.dirty")
	r.commit()
	r.build("0.1.0+1.gHEAD")
	r.release("", "v0.1.0 is the commit")

	r.write("CHANGELOG.md", changelog("- More.\n", "0.1.0"))
	r.commit()
	r.build("0.1.0+2.gHEAD")
	r.release("", "entries under Unreleased")
	r.write("CHANGELOG.md", changelog("", "0.2.0", "0.1.0"))
	r.commit()
	r.build("0.2.0+0.gHEAD")
	r.release("0.2.0", "")
	r.git("tag", "v0.2.1")
	r.release("", "the tag v0.2.1")
}
