package segdv1_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
)

// docs/bus.md names every field and every value of an enum.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/bus.md")
	require.NoError(t, err)
	named := func(what, name string) {
		assert.Contains(t, string(text), "`"+name+"`", "docs/bus.md does not name %s `%s`", what, name)
	}
	file := segdv1.File_bus_segdv1_segd_proto
	for i := range file.Messages().Len() {
		m := file.Messages().Get(i)
		for j := range m.Fields().Len() {
			named("the field of "+string(m.Name()), string(m.Fields().Get(j).Name()))
		}
	}
	for i := range file.Enums().Len() {
		e := file.Enums().Get(i)
		for j := range e.Values().Len() {
			named("the value of "+string(e.Name()), string(e.Values().Get(j).Name()))
		}
	}
}
