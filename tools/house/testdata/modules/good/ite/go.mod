module example.org/m/ite

go 1.26

require (
	example.org/m v0.0.0 // indirect
	example.org/m/sat v0.0.0
)

replace (
	example.org/m => ..
	example.org/m/sat => ../sat
)
