// Package restart kills a segd again and again while a camera plays on, and looks at what is lost:
// how long it takes after each start until what is in sight has masks again, whether these are the
// ones of a segd that was not killed, and whether each object has its number and its name.
package restart
