// Package natsdocs runs the examples of docs/nats.md: every line of its sh blocks, by
// NATS' own program at the server of a segd demo. Each must end well within a limit.
package natsdocs

import "strings"

// examples returns the lines of a Markdown text's sh blocks.
func examples(text string) (lines []string) {
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```sh"
		case inside && line != "" && line[0] != '#':
			lines = append(lines, line)
		}
	}
	return lines
}
