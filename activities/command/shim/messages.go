package shim

import (
	"encoding/json"
	"time"

	"github.com/roundsman/roundsman/internal/lib/rlimit"
)

// Argument is the first argument of a process that is a shim.
const Argument = "shim-of-a-program"

// Order is the first message to a shim. Messages are in gob: JSON cannot hold text that is not UTF-8.
type Order struct {
	Path string
	Argv []string
	Dir  string
	Env  []string
	// Grace is the time between SIGTERM and SIGKILL after the death of the worker.
	Grace time.Duration
	// Cgroup is the directory of a cgroup for the program alone; empty: none.
	Cgroup string
	// Bounded is set if the cgroup enforces a limit.
	Bounded bool
	// Setup is applied by a stage before it becomes the program; nil: there is no stage.
	Setup *Setup
}

// Setup is what a stage changes before it becomes the program.
type Setup struct {
	// Switch is set if user and groups are changed.
	Switch   bool
	UID, GID int
	Groups   []int
	// Umask and Nice are nil and IOClass is 0 if they stay as they are.
	Umask, Nice      *int
	IOClass, IOLevel int
	// Limits has no limit that the cgroup of the program enforces.
	Limits rlimit.Limits
}

// GobEncode keeps pointers to zero values, which gob drops: core 0, nice 0, umask 0.
func (s *Setup) GobEncode() ([]byte, error) { return json.Marshal(s) }

// GobDecode is the inverse of GobEncode.
func (s *Setup) GobDecode(data []byte) error { return json.Unmarshal(data, s) }

// Request ends all processes of the program. Without Kill they get SIGTERM, once.
type Request struct {
	Kill bool
}

// Report is a message of a shim. The first one has PID, or Errno and Error. Gone is the last one.
type Report struct {
	// PID is the process id of the started program.
	PID int
	// Errno and Error are the reason if the program did not start.
	Errno int
	Error string
	// Setup is set if the process could not be changed as configured.
	Setup bool
	// Folder is set if the program could not enter its working directory.
	Folder bool
	// Ended is set if the program itself has ended; Code and Signal are its status.
	Ended  bool
	Code   int
	Signal string
	// Gone is set if no process of the program is left.
	Gone bool
}
