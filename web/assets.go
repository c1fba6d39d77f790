package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"time"
)

// The page is plain HTML, CSS and ES modules; nothing is built.
//
//go:embed page
var pageFiles embed.FS

const indexName = "index.html"

// asset is one file of the page.
type asset struct {
	name, contentType, etag string
	body                    []byte
}

// loadAssets reads the embedded files, by name.
func loadAssets() (map[string]asset, error) {
	entries, err := fs.ReadDir(pageFiles, "page")
	if err != nil {
		return nil, fmt.Errorf("web: embedded page: %w", err)
	}
	assets := make(map[string]asset, len(entries))
	for _, entry := range entries {
		body, err := pageFiles.ReadFile(path.Join("page", entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("web: embedded page: %w", err)
		}
		sum := sha256.Sum256(body)
		assets[entry.Name()] = asset{
			name:        entry.Name(),
			contentType: contentType(entry.Name()),
			etag:        `"` + hex.EncodeToString(sum[:12]) + `"`,
			body:        body,
		}
	}
	return assets, nil
}

// contentType knows the page's few kinds itself: the machine's MIME tables may
// be absent or odd, and a module of the wrong type is not run.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".html":
		return "text/html; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return mime.TypeByExtension(path.Ext(name))
}

// serve answers with the file, or 304 when the browser has it: after an upgrade
// of segd no stale module may remain, so the browser always asks.
func (a asset) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", a.contentType)
	w.Header().Set("Cache-Control", "no-cache")
	w.Header().Set("ETag", a.etag)
	http.ServeContent(w, r, a.name, time.Time{}, bytes.NewReader(a.body))
}
