package main

func Exported() {}

func main() { Exported() }
