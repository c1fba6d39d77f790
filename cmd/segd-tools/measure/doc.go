// Package measure is segd bench, which gives figures of what segd costs here.
package measure
