package main

import "fmt"

// region hello
func main() {
	// region loop
	for i := range 3 {
		fmt.Println(i)
	}
	// endregion
}

// endregion

func between() {}

// region hello
func again() {}

// endregion
