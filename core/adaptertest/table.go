package adaptertest

import "slices"

// table is what an adapter does, row by row.
var table = slices.Concat(decisionRows, mountingRows, routingRows, keyRows, bodyRows, hookRows, connectionRows)

// attacks are the rows that repel an attack, by the attack's name.
var attacks = map[string][]row{}
