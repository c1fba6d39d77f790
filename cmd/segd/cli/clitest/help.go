package clitest

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/segd/segd/cmd/segd/cli"
)

// words splits a line as a shell would, as far as examples need it.
func words(line string) []string {
	var list []string
	for _, w := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1) {
		if w == "#" || w == "&&" || strings.HasPrefix(w, "<") || strings.HasPrefix(w, ">") {
			break
		}
		list = append(list, strings.Trim(w, "'"))
	}
	return list
}

// Silent are streams of which nothing is read and written.
func Silent() cli.Streams {
	return cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
}

// Commands calls f with every command that people see and can run.
func Commands(root *cobra.Command, f func(*cobra.Command)) {
	cli.Each(root, func(cmd *cobra.Command) {
		if !cmd.Hidden && cmd.Runnable() {
			f(cmd)
		}
	})
}

// Help wants every command to say what it is for and to give examples, each of them a command line
// that is taken, and so many of them. Each call of newRoot makes the command line anew.
func Help(t *testing.T, newRoot func() *cobra.Command, least int) {
	t.Helper()
	examples := 0
	Commands(newRoot(), func(cmd *cobra.Command) {
		name := cmd.CommandPath()
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: summary %q", name, cmd.Short)
		}
		for line := range strings.Lines(cmd.Long) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > 90 {
				t.Errorf("%s: a line of %d characters: %s", name, n, line)
			}
		}
		own := 0
		for line := range strings.Lines(cmd.Example) {
			i := strings.Index(line, newRoot().CommandPath()+" ")
			if i < 0 {
				t.Errorf("%s: example %q", name, line)
				continue
			}
			args := words(line[i+len(newRoot().CommandPath()):])
			root := newRoot()
			called, rest, err := root.Find(args)
			if err == nil {
				err = called.ParseFlags(rest)
			}
			if err == nil {
				err = called.ValidateArgs(called.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: example %q: %v", name, strings.TrimSpace(line), err)
				continue
			}
			if strings.HasPrefix(called.CommandPath(), name) {
				own++
			}
			examples++
		}
		if own == 0 {
			t.Errorf("%s has no example of itself", name)
		}
	})
	if examples < least {
		t.Errorf("only %d examples were tried; want %d", examples, least)
	}
}
