package docs

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	fence   = regexp.MustCompile("(?ms)^(```|~~~).*?^(```|~~~)[ \t]*$")
	code    = regexp.MustCompile("`[^`\n]*`")
	indent  = regexp.MustCompile(`(?m)^(    |\t).*$`)
	link    = regexp.MustCompile(`\]\(\s*<?([^)\s>]+)>?(?:\s+"[^"]*")?\s*\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6}[ \t]+(.+?)[ \t]*#*$`)
	inline  = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
)

// links returns where a Markdown text's links and pictures lead.
func links(text string) (targets []string) {
	for _, not := range []*regexp.Regexp{fence, indent, code} {
		text = not.ReplaceAllString(text, "")
	}
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		targets = append(targets, m[1])
	}
	return targets
}

// anchors returns what GitHub calls the headings of a Markdown text.
func anchors(text string) []string {
	var names []string
	seen := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, inline.ReplaceAllString(m[1], "$1"))
		seen[name]++
		if n := seen[name]; n > 1 {
			name = fmt.Sprintf("%s-%d", name, n-1)
		}
		names = append(names, name)
	}
	return names
}

// check says what is wrong with a link in file, which lies under root.
func check(root, file, target string) error {
	u, err := url.Parse(target)
	if err != nil {
		return err
	}
	if u.Scheme != "" || u.Host != "" {
		return nil // the web's
	}
	to := file
	if u.Path != "" {
		to = filepath.Join(filepath.Dir(file), filepath.FromSlash(u.Path))
	}
	if rel, err := filepath.Rel(root, to); err != nil || !filepath.IsLocal(rel) {
		return fmt.Errorf("%s is outside the repository", to)
	}
	if _, err := os.Stat(to); err != nil {
		return err
	}
	if u.Fragment == "" || filepath.Ext(to) != ".md" {
		return nil
	}
	text, err := os.ReadFile(to)
	if err != nil {
		return err
	}
	if have := anchors(string(text)); !slices.Contains(have, u.Fragment) {
		return fmt.Errorf("%s has no heading #%s; it has %s", to, u.Fragment, strings.Join(have, ", "))
	}
	return nil
}

func TestLinks(t *testing.T) {
	const root = "../.."
	files, count := 0, 0
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && file != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"node_modules", "venv", "bin", "testdata"}, name)) {
			return filepath.SkipDir
		}
		if entry.IsDir() || filepath.Ext(name) != ".md" {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		files++
		for _, target := range links(string(text)) {
			count++
			assert.NoError(t, check(root, file, target), "%s links to %s", file, target)
		}
		return nil
	})
	require.NoError(t, err)
	if files < 5 || count < 10 {
		t.Errorf("%d links in %d files: the test does not look", count, files)
	}
}

// The judge is judged.
func TestCheck(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, "docs", "a.md")
	other := "# Title\n\n## What it is: `segd run`, [twice](x)\n\n## Same\n\n## Same\n\n```\n# no heading\n```\n"
	for name, text := range map[string]string{file: "## Here\n", filepath.Join(root, "b.md"): other} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	for target, good := range map[string]bool{
		"../b.md":                             true,
		"../b.md#title":                       true,
		"../b.md#what-it-is-segd-run-twice":   true,
		"../b.md#same":                        true,
		"../b.md#same-1":                      true,
		"#here":                               true,
		"..":                                  true,
		"https://example.com/nothing#nowhere": true,
		"../b.md#same-2":                      false,
		"../b.md#no-heading":                  false,
		"b.md":                                false,
		"#there":                              false,
		"../../outside.md":                    false,
	} {
		if err := check(root, file, target); (err == nil) != good {
			t.Errorf("%s: %v, want good = %v", target, err, good)
		}
	}
	text := "[a](x.md) ![p](y.png \"t\") `[c](no.md)` [`d`](<z.md>)\n\n    [e](no.md)\n\n```\n[f](no.md)\n```\n"
	assert.Equal(t, "x.md y.png z.md", strings.Join(links(text), " "), "links are")
}
