module example.org/m

go 1.26

require example.com/other v1.0.0
