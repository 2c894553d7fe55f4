package main

import "syscall"

// dieWithParent has the kernel end a process when we end, however that is.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
