package api

import (
	"bytes"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWriteProblem(t *testing.T) {
	w := httptest.NewRecorder()
	WriteProblem(w, 400, `"<x>" & more`, Field{Pointer: "/objects/0/box", Detail: "3 numbers"}, Field{Field: "id", Detail: "none"})
	const want = `{"title":"Bad Request","status":400,"detail":"\"<x>\" & more","errors":[{"pointer":"/objects/0/box","detail":"3 numbers"},{"field":"id","detail":"none"}]}` + "\n"
	if w.Code != 400 || w.Body.String() != want || w.Header().Get("Content-Type") != ProblemType {
		t.Errorf("%d %v %s; want %s", w.Code, w.Header(), w.Body, want)
	}
	w = httptest.NewRecorder()
	WriteProblem(w, 404, "nothing")
	if w.Body.String() != `{"title":"Not Found","status":404,"detail":"nothing"}`+"\n" {
		t.Error(w.Body)
	}
}

func TestPointer(t *testing.T) {
	for field, want := range map[string]string{"label": "/label", "objects[0].box": "/objects/0/box", "zones[1].polygon[12]": "/zones/1/polygon/12"} {
		assert.Equal(t, want, Pointer(field), "%s is", field)
	}
}

// Problem documents are made here and nowhere else.
func TestOnce(t *testing.T) {
	const root = ".."
	var makers []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(`"application/problem+json"`)) {
			makers = append(makers, strings.TrimPrefix(path, root+"/"))
		}
		return err
	})
	require.NoError(t, err)
	if len(makers) != 1 || makers[0] != "api/problem.go" {
		t.Errorf("made by %q", makers)
	}
}
