// Package moons runs the DC-ADMM paper's experiment on four moons, whose labels are to
// be found from bounds on the classes' shares alone. It returns a report; printing is
// the caller's.
package moons
