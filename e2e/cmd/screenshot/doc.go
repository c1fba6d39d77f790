// Command screenshot takes a picture of the page with a headless Chromium, or
// records it for some seconds.
//
// It starts the demo and the browser, waits until the page really shows frames
// with a visible object, takes the picture, and ends what it started. Any error or
// warning on the page's console, such as a breach of its content security policy, is
// a failure; so is a recording that jerks or is too large.
package main
