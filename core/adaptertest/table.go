package adaptertest

import (
	"maps"
	"slices"
)

// table is what an adapter does, row by row.
var table = slices.Concat(decisionRows, mountingRows, routingRows, keyRows, bodyRows, hookRows, failureRows, afterRows, connectionRows)

// attacks are the rows that repel an attack, by the attack's name.
var attacks = func() map[string][]row {
	all := maps.Clone(identityAttacks)
	maps.Copy(all, httpAttacks)
	return all
}()
