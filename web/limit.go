package web

import (
	"net/http"
	"net/netip"
	"strconv"

	"github.com/segd/segd/internal/limit"
	"github.com/segd/segd/internal/problem"
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
	problem.Write(w, http.StatusTooManyRequests, what+" from this address; try again in "+strconv.Itoa(wait)+" s")
	return false
}
