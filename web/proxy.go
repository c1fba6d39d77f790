package web

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// proxies are the addresses of those who tell the truth about whom they stand for.
type proxies []netip.Prefix

func (p proxies) trust(addr netip.Addr) bool {
	return slices.ContainsFunc(p, func(one netip.Prefix) bool { return one.Contains(addr) })
}

// securely is the context's key of a request that came to a proxy by HTTPS.
type securely struct{}

// bySecure tells whether the browser came by HTTPS.
func bySecure(r *http.Request) bool { return r.TLS != nil || r.Context().Value(securely{}) != nil }

// resolve puts the client in the place of the proxies that it came by.
func (p proxies) resolve(next http.Handler) http.Handler {
	if len(p) == 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer := addrOf(r)
		if !p.trust(peer) {
			next.ServeHTTP(w, r)
			return
		}
		ctx := r.Context()
		// The first of a list is how the client came to the first proxy.
		proto, _, _ := strings.Cut(r.Header.Get("X-Forwarded-Proto"), ",")
		if strings.EqualFold(strings.TrimSpace(proto), "https") {
			ctx = context.WithValue(ctx, securely{}, true)
		}
		r = r.WithContext(ctx)
		r.RemoteAddr = netip.AddrPortFrom(p.client(peer, r.Header), 0).String()
		next.ServeHTTP(w, r)
	})
}

// client is who a request of peer comes from. Each proxy adds at the right of
// X-Forwarded-For whom it has it from, so the client is the first from there who is no
// proxy: what is to its left it may have made up. An entry that is no address ends the
// search at who wrote it.
func (p proxies) client(peer netip.Addr, h http.Header) netip.Addr {
	hops := strings.Split(strings.Join(h.Values("X-Forwarded-For"), ","), ",")
	client := peer
	for _, hop := range slices.Backward(hops) {
		if !p.trust(client) {
			break
		}
		addr, ok := hopAddr(strings.TrimSpace(hop))
		if !ok {
			break
		}
		client = addr
	}
	return client
}

// hopAddr reads an address, with or without brackets and port.
func hopAddr(text string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		with, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}, false
		}
		addr = with.Addr()
	}
	return addr.Unmap().WithZone(""), true
}

// addrOf is whom a request comes from; invalid when it has no address.
func addrOf(r *http.Request) netip.Addr {
	addr, _ := hopAddr(r.RemoteAddr)
	return addr
}
