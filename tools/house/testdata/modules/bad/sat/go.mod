module example.org/m/other

go 1.25

require example.org/m v0.0.0

replace example.org/m => ./wrong
