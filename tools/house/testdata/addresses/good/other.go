package a

func other(r request) { _ = r.IP() }
