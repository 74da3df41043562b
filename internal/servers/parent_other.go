//go:build !linux

package servers

import "syscall"

// dieWithParent is known on Linux only; elsewhere Cleanup has to do.
func dieWithParent() *syscall.SysProcAttr { return nil }
