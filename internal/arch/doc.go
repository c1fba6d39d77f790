// Package arch holds the house's plan: which package may import which. It has
// no code of its own; its test reads every Go file of the module and fails on an
// import the plan does not grant, on a package the plan does not know, and on a
// room of the plan that stands empty.
package arch
