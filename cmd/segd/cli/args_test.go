package cli

import (
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
)

func TestArgs(t *testing.T) {
	for _, tc := range []struct {
		use, want string
		args      []string
	}{
		{"watch CAMERA|SUBJECT", "CAMERA|SUBJECT is missing; accepted: watch CAMERA|SUBJECT", nil},
		{"watch CAMERA|SUBJECT", `"b" is one argument too many; accepted: watch CAMERA|SUBJECT`, []string{"a", "b"}},
		{"rename CAMERA ID NAME", "NAME is missing; accepted: rename CAMERA ID NAME", []string{"gate", "1"}},
		{"clear CAMERA [ID]", "CAMERA is missing; accepted: clear CAMERA [ID]", nil},
		{"clear CAMERA [ID]", "", []string{"gate"}},
		{"clear CAMERA [ID]", "", []string{"gate", "1"}},
		{"clear CAMERA [ID]", `"2" is one argument too many; accepted: clear CAMERA [ID]`, []string{"gate", "1", "2"}},
		{"add NAME URL [KEY=VALUE...]", "URL is missing; accepted: add NAME URL [KEY=VALUE...]", []string{"yard"}},
		{"add NAME URL [KEY=VALUE...]", "", []string{"yard", "whip:", "fps=5", "loop=true"}},
		{"check -c FILE", `"a.yaml" is one argument too many; accepted: check`, []string{"a.yaml"}},
		{"soak (--root DIR | --video FILE)", "", nil},
	} {
		got := ""
		if err := Args(&cobra.Command{Use: tc.use}, tc.args); err != nil {
			got = err.Error()
		}
		assert.Equal(t, tc.want, got, "%s with %q", tc.use, tc.args)
	}
}
