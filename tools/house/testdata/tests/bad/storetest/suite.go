package storetest

import "time"

func wait() { time.Sleep(time.Second) }
