package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/segd/segd/bus/segdv1"
	"github.com/segd/segd/cmd/segd/cli/clitest"
	"github.com/segd/segd/cmd/segd/daemon/daemontest"
	"github.com/segd/segd/config"
	"github.com/segd/segd/ingest/demo"
	"github.com/segd/segd/internal/freeport"
	"github.com/segd/segd/internal/waitfor"
)

// The camera of the README shows masks of who walks through its picture, with nothing but its URL changed.
func TestReadmeCamera(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 10 s: a segd as the README has it, with the demo's clip")
	}
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	yaml := regexp.MustCompile(`(?m)^ +nats: .*\n +cameras:\n( +- name: gate\n +)url: .*\n`).Find(readme)
	if yaml == nil {
		t.Fatal("the README has no configuration with a camera called gate")
	}
	text := regexp.MustCompile(`(?m)^       `).ReplaceAllString(string(yaml), "")
	clip, err := demo.Prepare(t.Context(), demo.FindClip(), demo.Shape{Start: demo.Start}, nil)
	require.NoError(t, err)
	text = regexp.MustCompile(`url: .*`).ReplaceAllLiteralString(text, "url: "+daemontest.Play(t, clip, demo.Config{}).URL())
	natsAddr := freeport.Addr(t)
	text = strings.Replace(text, "nats: {", "nats: {addr: '"+natsAddr+"', ", 1) + "http: {addr: '" + freeport.Addr(t) + "'}\n"
	start(t, "run", "-c", clitest.File(t, "segd.yaml", text))
	h := listen(t, natsAddr)
	waitfor.True(t, "a mask of somebody", func() bool {
		masks := h.of("gate")
		return len(masks) > 0 && slices.ContainsFunc(masks[len(masks)-1].Objects, func(o *segdv1.Object) bool {
			return o.Area > 0 && o.Automatic && slices.Contains(config.DefaultDetectClasses(), o.Class)
		})
	})
}
