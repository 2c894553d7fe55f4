package main

import "golang.org/x/sys/windows"

func lowPriority() {
	_ = windows.SetPriorityClass(windows.CurrentProcess(), windows.IDLE_PRIORITY_CLASS) // without it, it only takes more
}
