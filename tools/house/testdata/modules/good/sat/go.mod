module example.org/m/sat

go 1.26.0

require example.org/m v0.0.0

replace example.org/m => ../
