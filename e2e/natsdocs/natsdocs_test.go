package natsdocs

import (
	"slices"
	"testing"
)

func TestExamples(t *testing.T) {
	const text = "text\n```sh\nnats a\n\n# comment\nnats b 'c'\n```\nnats no\n```yaml\nnats: {}\n```\n```\nnats no\n```\n"
	if got, want := examples(text), []string{"nats a", "nats b 'c'"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
