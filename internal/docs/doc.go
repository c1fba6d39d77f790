// Package docs has no code of its own; its test reads every Markdown file of the
// repository and fails on a link that leads nowhere.
package docs
