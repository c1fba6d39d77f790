package docs

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// vague matches pronouns that comments use where they should name the caller, client, user or box.
var vague = regexp.MustCompile(`(?i)\b(whoever|nobody|somebody)\b`)

// vagueIn is how often, at most, comments below a folder, or in a file, may have them.
var vagueIn = map[string]int{
	"config/config.go":         2, // a setting's value
	"web/handed.go":            1, // a role's name
	"web/whip/example_test.go": 1, // what the example prints
}

// Comments say who does what.
func TestComments(t *testing.T) {
	const root = "../.."
	had := map[string]int{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "bin" || entry.Name() == "node_modules" || strings.HasPrefix(entry.Name(), ".") && path != root) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		for _, group := range parsed.Comments {
			for _, comment := range group.List {
				for _, word := range vague.FindAllString(comment.Text, -1) {
					if where := within(rel); where != "" {
						had[where]++
						continue
					}
					t.Errorf("%s:%d: %q; accepts who it is: the subscriber, the client, the caller, no box", rel, files.Position(comment.Pos()).Line, word)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for where, most := range vagueIn {
		if had[where] > most {
			t.Errorf("%s has %d such words in comments; at most %d are accepted: say who it is, such as the subscriber, the client, the caller", where, had[where], most)
		}
	}
}

// within is what of vagueIn a file is in.
func within(rel string) string {
	for where := range vagueIn {
		if rel == where || strings.HasPrefix(rel, where+"/") {
			return where
		}
	}
	return ""
}
