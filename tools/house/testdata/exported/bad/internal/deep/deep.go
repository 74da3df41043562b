package deep

type Undocumented struct{}
