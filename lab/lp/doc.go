// Package lp minimises linear programs whose costs change from call to call, by
// the dual simplex method of COIN-OR Clp (Debian's coinor-libclp-dev, EPL-2.0,
// linked dynamically). It is the only package that knows Clp.
//
// A [Model] is made once for its rows and starts each Minimise from the basis
// that the last one ended in. It has one owner: no method may run beside another
// on the same value. Distinct models are independent.
package lp
