package segdv1

import (
	"slices"
	"strings"
)

// KindName is a kind's name without its prefix, such as object_entered.
func KindName(k EventKind) string {
	return strings.ToLower(strings.TrimPrefix(k.String(), "EVENT_KIND_"))
}

// KindNames are those of all kinds.
func KindNames() (all []string) {
	for n := range EventKind_name {
		if n != 0 {
			all = append(all, KindName(EventKind(n)))
		}
	}
	slices.Sort(all)
	return all
}
