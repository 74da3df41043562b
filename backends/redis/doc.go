// Package redislimit keeps the cells of a rate limiter in Redis, for
// applications on more than one machine.
//
// Every decision is one EVALSHA on a single server, under Sentinel, and wherever
// its cells share a slot: the script reads the server's clock, decides all asks,
// charges all or none, and sets every key's time to live. The scripts decide as
// the Go rules do, word for word; they are assembled from one fragment per
// strategy in the directory lua. So is the program that settles charges later.
//
// A command is never sent twice unless a reply proves that the first one did
// nothing, and no call takes longer than its time-out, whatever the server does.
package redislimit
