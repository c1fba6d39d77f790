// Package man writes manual pages.
package man

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/segd/segd/cmd/segd/cli"
)

// Command is for packagers: make package calls it. Of a root with another name for people, such as segd-tools, whose
// commands are segd's, there is no page of the root: that page is segd's.
func Command(version string) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages of all commands to DIR",
		Hidden: true,
		Args:   cli.Args,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return cli.Usage(fmt.Errorf("man: %w", err))
			}
			return writeMan(cmd.Root(), version, args[0])
		},
	}
}

func writeMan(root *cobra.Command, version, dir string) error {
	header := &doc.GenManHeader{Section: "1", Source: "segd " + version, Manual: "User commands"}
	// Packages that are built twice shall be the same (https://reproducible-builds.org).
	if seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		date := time.Unix(seconds, 0).UTC()
		header.Date = &date
	}
	root.DisableAutoGenTag = true
	cli.Each(root, func(cmd *cobra.Command) { cmd.Long = asMarkdown(cmd.Long) })
	pages := []*cobra.Command{root}
	if root.DisplayName() != root.Name() {
		pages = slices.DeleteFunc(root.Commands(), func(cmd *cobra.Command) bool { return !cmd.IsAvailableCommand() || cmd.Name() == "help" })
	}
	for _, page := range pages {
		if err := doc.GenManTree(page, header, dir); err != nil {
			return fmt.Errorf("man: %w", err)
		}
	}
	return nil
}

// asMarkdown keeps what a help text indents as it is: in the language that the
// generator reads, four spaces say so.
func asMarkdown(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  ") {
			b.WriteString("  ")
		}
		b.WriteString(line)
	}
	return b.String()
}
