package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// clusterStore is how many megabytes each server of a cluster may store.
const clusterStore = 1024

// NATSCluster are NATS servers with JetStream that are one cluster. They tell clients of no other server than the one
// that these have dialled, so that a proxy between the two stays there.
type NATSCluster struct {
	Nodes []*NATS
	// Names are the servers', as they call themselves, in the order of Nodes.
	Names []string

	monitors []string // URLs
}

// StartNATSCluster starts n servers and waits until JetStream has a leader; conf, which may be empty, are further lines
// of the configuration of each.
func StartNATSCluster(tb testing.TB, n int, conf string) *NATSCluster {
	tb.Helper()
	c := &NATSCluster{}
	addrs := FreeAddrs(tb, 3*n)
	clients, routes, monitors := addrs[:n], addrs[n:2*n], addrs[2*n:]
	for i := range n {
		name := fmt.Sprintf("nats-%d", i+1)
		node := newNATS(tb, name, clients[i], tb.TempDir(), clusterStore, fmt.Sprintf(
			"server_name: %q\nhttp: %q\ncluster: {name: test, listen: %q, no_advertise: true, routes: [nats://%s]}\n%s",
			name, monitors[i], routes[i], strings.Join(routes, ", nats://"), conf))
		c.Nodes, c.Names, c.monitors = append(c.Nodes, node), append(c.Names, name), append(c.monitors, "http://"+monitors[i]+"/")
	}
	for _, node := range c.Nodes {
		if err := node.Start(tb.Context()); err != nil {
			tb.Fatal(err)
		}
	}
	Until(tb, StartLimit, "a leader of JetStream's cluster", c.Ready)
	return c
}

// URL names all servers.
func (c *NATSCluster) URL() string {
	urls := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		urls[i] = n.URL
	}
	return strings.Join(urls, ",")
}

// Ready tells why JetStream is not whole: no leader, or a server that has not caught up.
func (c *NATSCluster) Ready(ctx context.Context) error {
	text, err := Get(ctx, c.monitors[0]+"jsz")
	if err != nil {
		return err
	}
	var is struct {
		Meta struct {
			Leader string `json:"leader"`
			Size   int    `json:"cluster_size"`
		} `json:"meta_cluster"`
	}
	if err := json.Unmarshal(text, &is); err != nil {
		return fmt.Errorf("jsz: %w", err)
	}
	if is.Meta.Leader == "" || is.Meta.Size != len(c.Nodes) {
		return fmt.Errorf("JetStream has the leader %q and %d servers", is.Meta.Leader, is.Meta.Size)
	}
	var faults []error
	for _, monitor := range c.monitors {
		_, err := Get(ctx, monitor+"healthz") // which asks whether every stream is current
		faults = append(faults, err)
	}
	return errors.Join(faults...)
}
