package docs

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

var quoted = regexp.MustCompile("`([^`]+)`")

// Row is a row of a table.
type Row struct {
	Names []string          // what the first cell has in backquotes
	Cells map[string]string // the other cells by their columns' names
}

// Table returns the rows of the first table below a heading of a Markdown file. The heading is
// without its signs, and the error says what is missing.
func Table(file, heading string) ([]Row, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("docs: %w", err)
	}
	below, columns := false, []string(nil)
	var rows []Row
	for line := range strings.SplitSeq(string(text), "\n") {
		if strings.HasPrefix(line, "#") {
			below = strings.TrimLeft(line, "# ") == heading
			continue
		}
		if !below || !strings.HasPrefix(line, "|") {
			if len(rows) > 0 {
				break
			}
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case columns == nil:
			columns = cells
			continue
		case strings.HasPrefix(cells[0], "---"):
			continue
		case len(cells) != len(columns):
			return nil, fmt.Errorf("docs: %s, %q: a row of %d cells, %s; want %d", file, heading, len(cells), cells[0], len(columns))
		}
		row := Row{Cells: map[string]string{}}
		for _, m := range quoted.FindAllStringSubmatch(cells[0], -1) {
			row.Names = append(row.Names, m[1])
		}
		for i, c := range columns[1:] {
			row.Cells[c] = cells[i+1]
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("docs: %s has no table below %q", file, heading)
	}
	return rows, nil
}
