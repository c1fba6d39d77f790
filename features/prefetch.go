//go:build (amd64 || arm64) && !noasm

package features

// prefetch has the processor fetch what lies at p, and a stride of bytes before and
// behind it.
//
//go:noescape
func prefetch(p *pixel, stride uintptr)
