package command

import "time"

// ShimArgument is the first argument of a process that must call [Shim].
const ShimArgument = "shim-of-a-program"

// order is the first message of a worker to a shim: the program to start.
type order struct {
	Path string   `json:"path"`
	Argv []string `json:"argv"`
	Dir  string   `json:"dir,omitempty"`
	Env  []string `json:"env"`
	// Grace is the time between SIGTERM and SIGKILL after the death of the worker.
	Grace time.Duration `json:"grace"`
	// Cgroup is the directory of a cgroup for the program alone; empty: none.
	Cgroup string `json:"cgroup,omitempty"`
}

// request is each further message of a worker: end all processes of the program.
// Without Kill they get SIGTERM, once.
type request struct {
	Kill bool `json:"kill,omitempty"`
}

// report is a message of a shim. The first one has PID, or Errno and Error. Gone is
// the last one.
type report struct {
	// PID is the process id of the started program.
	PID int `json:"pid,omitempty"`
	// Errno and Error are the reason if the program did not start.
	Errno int    `json:"errno,omitempty"`
	Error string `json:"error,omitempty"`
	// Ended is set if the program itself has ended; Code and Signal are its status.
	Ended  bool   `json:"ended,omitempty"`
	Code   int    `json:"code,omitempty"`
	Signal string `json:"signal,omitempty"`
	// Gone is set if no process of the program is left.
	Gone bool `json:"gone,omitempty"`
}
