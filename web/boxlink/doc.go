// Package boxlink carries HTTP requests from one box of a fleet to another, for package fleet's boxes: a client that asks a
// box about a camera is answered by the one that runs it.
//
// In go a request and the name of a box (Link.To); out come, on that box, the same request and who sent it, as what the
// first box has let them in (Config.Answer). Tokens and cookies stay where they came. The address of each box's page is
// the caller's to know (Config.Address); Address makes that of this one.
//
// # On the way
//
// A box connects to the page of another one like a browser does, by HTTP or HTTPS, through whatever proxies are before
// it, and has the connection upgraded to Protocol at Path. In that the two speak TLS 1.3 with keys that are made of the
// fleet's secret and of the asked box's name, and HTTP/1.1 in that. So a host between them, or one that says another address
// for a box, cannot read what they say, change it, send it again, or answer.
//
// # Limits
//
// A box answers so many commands and views at once (Config.Commands, Config.Views), each beside the other; further ones
// are refused with 503 and Retry-After.
//
// A Link's methods may be called from any goroutine. Its own goroutine is joined by Close.
package boxlink
