package remote

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

type metrics struct {
	gone, lost, stalls, repeats, repaired, panics, strange prometheus.Counter
}

func newMetrics(n *Node, reg prometheus.Registerer) *metrics {
	f := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	f.NewGaugeFunc(prometheus.GaugeOpts{Name: "skein_cluster_nodes", Help: "Other nodes that are heard."}, func() float64 {
		n.peers.mu.Lock()
		defer n.peers.mu.Unlock()
		return float64(len(n.peers.nodes))
	})
	f.NewGaugeFunc(prometheus.GaugeOpts{Name: "skein_cluster_sends_underway", Help: "Messages passed to a logic node that have no answer yet."}, func() float64 {
		n.router.mu.Lock()
		defer n.router.mu.Unlock()
		return float64(n.router.underway)
	})
	f.NewGaugeFunc(prometheus.GaugeOpts{Name: "skein_cluster_other_version_nodes", Help: "Nodes that are heard and speak another version of the bus."}, func() float64 {
		return float64(n.strangers.count())
	})
	return &metrics{
		gone:     counter("skein_cluster_nodes_gone_total", "Nodes that stopped being heard."),
		lost:     counter("skein_cluster_lost_total", "Times the bus told that it may have lost messages to this node."),
		stalls:   counter("skein_cluster_stalls_total", "Times this process stood still for longer than its heartbeat allows."),
		repeats:  counter("skein_cluster_repeated_sends_total", "Messages passed to a logic node once more because an answer or they themselves were lost."),
		panics:   counter("skein_cluster_panics_total", "Panics that ended a request of another node, or a mark."),
		strange:  counter("skein_cluster_other_version_messages_total", "Messages on the bus that are of another version and were not read."),
		repaired: counter("skein_cluster_compared_heads_total", "Conversations whose heads were compared after a loss."),
	}
}
