// Package arch says which package may import which. It has no code of its own: its
// tests read every Go file of the module and fail on an import that the table does not
// grant, on a package that is not in the table, and on folders at the top that import
// each other in a circle. They draw the folders and their imports into docs/architecture.md.
package arch
