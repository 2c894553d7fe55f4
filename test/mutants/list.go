package main

import "slices"

// all is the list, by the part of the server that is broken.
func all() []Mutant {
	return slices.Concat(journals, trims, messages, gateways, nodes, people, followers, clients, protocol, keys, crowds, lifetimes, retention, secondFactors, roles, providerLogins, erasures, exports, searching, media, previews, stickers, pushes, threads, edges, place, imports, operators)
}
