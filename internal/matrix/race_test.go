//go:build race

package matrix

// Under the race detector rows repeat a tenth as often.
func init() { raceShare = 10 }
