// Package memory is the embedded backend: cells in this process's memory,
// applied under locks, with hard caps on their number and their bytes.
//
// It starts no goroutine and needs no Close. What has expired is reclaimed a
// little with every call; when a cap is reached, a newcomer takes the place of
// an expired cell, else of the one that would be empty soonest, so that a flood
// of new identities can not push out a cell that is at its limit. Where every
// candidate is at its limit, the newcomers of one policy and window share a
// single overflow cell: they are limited together rather than free.
//
// # How it is laid out
//
//	Backend   shards, picked by the hash of the key alone: all rates and
//	          policies of one identity lie in one shard, under one mutex
//	shard     an index of 4-byte slots over an arena of records
//	record    a 128-bit fingerprint (what its place implies is not stored), the
//	          coarse instant from which on it is empty, and the state's words
//	arena     4 KiB chunks without pointers, cut from 256 KiB slabs that all
//	          shards share; the collector sees a slab as one object
//
// Keys are never stored, only their fingerprints under seeds of this Backend.
// States that grow (core.MovingWindow), or that have very many words, live in
// slices of their own; their bytes count too.
package memory
