package servers

import "syscall"

// dieWithParent ends a server whose test process was killed, too.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
