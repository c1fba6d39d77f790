package attack

import (
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/segd/segd/internal/docs"
)

// Roles over NATS that are not an admin's. A user has its role's name.
var roles = []string{"subscriber", "operator"}

// rights are what a role may do over NATS, as docs/security.md has it.
type rights struct{ hears, asks []string }

// readRights returns those of a role at a site.
func readRights(file, role, site string) (r rights, err error) {
	rows, err := docs.Table(file, "Over NATS")
	for _, row := range rows {
		for _, name := range row.Names {
			name = strings.NewReplacer("SITE", site, "USER", role).Replace(name)
			switch row.Cells[role] {
			case "hears":
				r.hears = append(r.hears, name)
			case "asks":
				r.asks = append(r.asks, name)
			}
		}
	}
	return r, err
}

func (r rights) mayHear(subject string) bool { return matches(subject, r.hears) }
func (r rights) mayAsk(subject string) bool  { return matches(subject, r.asks) }

func matches(subject string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return server.SubjectMatchesFilter(subject, p) })
}
