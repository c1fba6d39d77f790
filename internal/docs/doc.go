// Package docs reads tables of the documentation, for tests that hold the code against them. Its own
// tests read every Markdown file of the repository: a link that leads nowhere fails, and so does a message
// that is quoted and not said.
package docs
