package harness

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/segd/segd/e2e/browser"
)

var chromium = flag.String("browser", "chromium", "the Chromium to drive")

// Browser starts a Chromium that ends with the test, with further flags.
func Browser(tb testing.TB, flags ...string) *browser.Browser {
	tb.Helper()
	said, err := os.Create(filepath.Join(tb.ArtifactDir(), "chromium.log"))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = said.Close() })
	b, err := browser.Start(tb.Context(), said, *chromium, flags...)
	if err != nil {
		tb.Fatalf("harness: %v; scripts/setup browser installs it, -browser FILE names another; it said %s", err, said.Name())
	}
	tb.Cleanup(b.End)
	return b
}
