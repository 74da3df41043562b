// Package p, see docs/gone.md.
package p

/*
	line one

FIXME line two
*/
var s = 1
