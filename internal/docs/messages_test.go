package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	saysTable = regexp.MustCompile(`(?s)\| it says \|[^\n]*\n\|[-|]+\n(.*?)\n\n`)
	firstCell = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")
)

// What docs/troubleshooting.md says segd says is in its source: a reader searches for
// the words before him.
func TestMessages(t *testing.T) {
	page, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, table := range saysTable.FindAllSubmatch(page, -1) {
		for _, cell := range firstCell.FindAllSubmatch(table[1], -1) {
			found++
			if !strings.Contains(source.String(), string(cell[1])) {
				t.Errorf("docs/troubleshooting.md: nothing says %q", cell[1])
			}
		}
	}
	if found < 10 {
		t.Errorf("%d messages found: the test does not look", found)
	}
}
