package a

import "time"

func wait() { time.Sleep(time.Second) }
