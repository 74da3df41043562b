package main

// region body
func main() {
	println("new")

	println("newer")
}

// endregion
