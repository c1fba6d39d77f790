package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	saysList = regexp.MustCompile(`(?s)\nIt says:\n\n(.*?)\n\n`)
	message  = regexp.MustCompile("(?m)^- `([^`]+)`(?:, `([^`]+)`)?:")
)

// What docs/troubleshooting.md says segd says is in its source: a reader searches for
// the words before him.
func TestMessages(t *testing.T) {
	page, err := os.ReadFile("../../docs/troubleshooting.md")
	require.NoError(t, err)
	var source strings.Builder
	err = filepath.WalkDir("../..", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || strings.HasPrefix(entry.Name(), ".") && entry.Name() != "..") {
			return filepath.SkipDir
		}
		if file != filepath.Join("../..", "scripts", "setup") && (filepath.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go")) {
			return nil
		}
		text, err := os.ReadFile(file)
		source.Write(text)
		return err
	})
	require.NoError(t, err)
	found := 0
	for _, list := range saysList.FindAllSubmatch(page, -1) {
		for _, line := range message.FindAllSubmatch(list[1], -1) {
			for _, text := range line[1:] {
				found++
				assert.Contains(t, source.String(), string(text), "docs/troubleshooting.md: nothing says %q", text)
			}
		}
	}
	if found < 20 {
		t.Errorf("%d messages found: the test does not look", found)
	}
}
