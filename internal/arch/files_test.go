package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// opening are functions that open a file by its name, whatever it is: a pipe or a terminal has them wait for
// ever. What comes from outside is opened by internal/files.
var opening = map[string][]string{
	"os":                         {"Open", "OpenFile", "ReadFile", "ReadDir", "DirFS", "CopyFS", "OpenRoot", "OpenInRoot"},
	"io/ioutil":                  {"ReadFile", "ReadDir"},
	"path/filepath":              {"Walk", "WalkDir"},
	"syscall":                    {"Open", "Openat"},
	"golang.org/x/sys/unix":      {"Open", "Openat", "Openat2"},
	"crypto/tls":                 {"LoadX509KeyPair"},
	"net/http":                   {"ServeFile", "Dir"},
	"github.com/nats-io/nats.go": {"RootCAs", "ClientCert", "UserCredentials", "NkeyOptionFromSeed"},
}

// openers may call them: FILE:FUNCTION, and why.
var openers = map[string]string{
	"internal/files/files.go:Open":       "this is how files of others are opened",
	"internal/files/files.go:List":       "this is how folders of others are read",
	"internal/files/whole.go:writeWhole": "makes a file that was not there (O_EXCL), in a folder that has one or is to have it",

	"bus/tempdir.go:lockDir":                  "a folder that segd made, and nothing else",
	"cmd/segd/cli/password.go:readPassword":   "named on the command line by who waits for it, and may be a pipe from a password store",
	"cmd/segd/client/annotate.go:readPayload": "named on the command line by who waits for it",
	"cmd/segd/client/store.go:readKey":        "named on the command line by who waits for it",
	"cmd/segd/client/restore.go:restore":      "named on the command line by who waits for it",
	"cmd/segd/record/record.go:OpenFolder":    "a folder to write to, named on the command line by who waits for it",
	"cmd/segd/setup/init.go:writeConfig":      "makes a file that was not there (O_EXCL)",
	"cmd/segd-tools/dataset/export.go:Export": "folders, named on the command line by who waits for it; what is no regular file in them is left out",
	"outputs/recording/store.go:Open":         "a folder to write to, of which only regular files are opened, and no link leads out",
	"internal/docs/table.go:Table":            "documentation, for tests",
	"internal/freeport/freeport.go:highestOf": "the kernel's, for tests",
	"internal/resident/resident.go:MB":        "the kernel's",
	"ingest/onvif/onviftest/alone.go:alone":   "for tests",

	"cmd/segd/client/clienttest/clienttest.go:FilesIn": "for tests",
}

// apart are folders that are no part of the daemon nor of what it shares with commands: experiments, and tests' own.
var apart = []string{"clients/examples", "ingest/demo", "train"}

func TestFilesOfOthers(t *testing.T) {
	const root = "../.."
	used := map[string]bool{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if entry.IsDir() {
			if strings.HasPrefix(entry.Name(), ".") && file != root || entry.Name() == "testdata" || slices.Contains(nested, rel) || slices.Contains(apart, rel) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") || strings.HasSuffix(rel, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, call := range openings(parsed) {
			at := rel + ":" + call.in
			used[at] = true
			if openers[at] == "" {
				t.Errorf("%s calls %s: a name that comes from outside may be that of a pipe or of a device; internal/files opens it, or openers says why not", at, call.what)
			}
		}
		return nil
	})
	require.NoError(t, err)
	for at := range openers {
		if !used[at] {
			t.Errorf("openers has %s, which opens nothing", at)
		}
	}
}

type anOpening struct{ in, what string }

// openings are where a file uses one of opening, called or handed on.
func openings(file *ast.File) (all []anOpening) {
	names := map[string]string{} // of imports, by how the file calls them
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			continue
		}
		name := strings.TrimSuffix(imported[strings.LastIndexByte(imported, '/')+1:], ".go")
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = imported
	}
	for _, decl := range file.Decls {
		in := "a variable"
		if f, ok := decl.(*ast.FuncDecl); ok {
			in = f.Name.Name
		}
		ast.Inspect(decl, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && slices.Contains(opening[names[x.Name]], s.Sel.Name) {
					all = append(all, anOpening{in, x.Name + "." + s.Sel.Name})
				}
			}
			return true
		})
	}
	return all
}

func TestOpenings(t *testing.T) {
	const text = `package p
import ("os"; web "net/http"; "github.com/nats-io/nats.go")
var read = os.ReadFile
func f() { g := func() { os.Open("x") }; web.ServeFile(nil, nil, "x"); os.Stat("x"); nats.RootCAs("x"); g() }
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, parser.SkipObjectResolution)
	require.NoError(t, err)
	want := []anOpening{{"a variable", "os.ReadFile"}, {"f", "os.Open"}, {"f", "web.ServeFile"}, {"f", "nats.RootCAs"}}
	if got := openings(file); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
