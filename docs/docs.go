// Package docs holds of the documentation what segd itself shows.
package docs

import _ "embed" // the runbook

// Runbook is runbook.md: what to do about each alert, below a heading of its name.
//
//go:embed runbook.md
var Runbook string
