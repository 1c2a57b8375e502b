package command

import "golang.org/x/sys/unix"

// maySwitch reports whether this process may change users and groups, and end programs of
// other users.
func maySwitch() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if unix.Capget(&header, &data[0]) != nil { // Version 3 fills both elements.
		return false
	}
	const needed = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID | 1<<unix.CAP_KILL
	return data[0].Effective&needed == needed
}
