package web

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strconv"

	"github.com/segd/segd/api"
	"github.com/segd/segd/internal/limit"
)

// costFailed is what a request without the right token costs its client.
const costFailed = limit.CostWork

// allowance is whose it is: every request of the API spends some of its client's. Clients
// are told apart by address, those with IPv6 by network, and by what they may do: who
// has a token does not pay for others at the same address who guess it.
type allowance struct {
	client netip.Prefix
	as     role
}

// spend answers 429 to a client that asks too often, and then returns false.
func (g *gate) spend(w http.ResponseWriter, r *http.Request, as role, cost int) bool {
	wait, ok := g.limits.Spend(allowance{limit.Client(addrOf(r)), as}, cost)
	if ok {
		return true
	}
	what := "too many requests"
	if as == nobody {
		what += " without a right token"
	}
	w.Header().Set("Retry-After", strconv.Itoa(wait))
	api.WriteProblem(w, http.StatusTooManyRequests, what+" from this address; try again in "+strconv.Itoa(wait)+" s")
	return false
}

const (
	// strangers bounds the connections of a client that has shown no right token, and the requests that it has under way.
	strangers = 64
	// besides is how many a client with tokens may have besides live ones, as many of each role as http.viewers.
	besides = 64
)

func trusted(cfg Config) int { return 2*cfg.MaxViewers + besides }

// conns are the connections that there may be: one client has no more than half of them.
func conns(cfg Config) limit.Conns {
	return limit.Conns{
		Setting: "http.addr", All: 2 * (strangers + trusted(cfg)), Strangers: strangers, Trusted: trusted(cfg),
		Proxy: proxies(cfg.TrustedProxies).trust, Logger: cfg.Logger,
	}
}

// connOf is the context's key of a request's connection.
type connOf struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connOf{}, limit.Of(c))
}

// counted has each client have so many requests under way, whatever connections and proxies they come by, and has a
// connection end with the answer to clients without a role, or with too many.
func (s *Server) counted(next http.Handler) http.Handler {
	unknown, known := limit.NewClients(strangers), limit.NewClients(trusted(s.cfg))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, publishes := s.gate.mayPublish(r)
		let := publishes || s.gate.role(r) > nobody
		conn, _ := r.Context().Value(connOf{}).(*limit.Conn)
		if conn != nil && !conn.Proxy && !(let && conn.Trust()) {
			w.Header().Set("Connection", "close")
		}
		under := unknown
		if let {
			under = known
		}
		client := limit.Client(addrOf(r))
		if !under.Enter(client) {
			w.Header().Set("Retry-After", retryRefused)
			api.WriteProblem(w, http.StatusServiceUnavailable, "too many requests of this address are under way")
			return
		}
		defer under.Leave(client)
		next.ServeHTTP(w, r)
	})
}
