// Package foreground measures the masks of what a standing camera marks by itself against the true foreground: all that moves or
// came since. Nobody marks anything. In go sequences in DAVIS' layout, out come the intersection over union of all masks together
// with the foreground, and how many masks have a straight side, which is a box that was filled. One goroutine calls it.
package foreground
