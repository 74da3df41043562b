// Package p uses context.TODO, see docs/page.md.
package p

var s = "TODO /home/ada/x GONE.md"
