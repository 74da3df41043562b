package main

func peer(c ctx) { _ = c.ClientIP() }
