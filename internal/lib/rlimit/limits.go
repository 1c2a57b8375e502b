package rlimit

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// Limits bound the resources of a program. An empty field keeps the worker's own limit.
type Limits struct {
	// Memory bounds the memory of the program in its cgroup, else the address space of each process.
	Memory Size `json:"memory,omitempty"`
	CPU    CPU  `json:"cpu,omitzero"`
	// PIDs bounds the processes and threads of the program in its cgroup, else those of its user.
	PIDs int `json:"pids,omitempty"`
	// OpenFiles is the number of files that each process may have open.
	OpenFiles int `json:"open_files,omitempty"`
	// Core is the size of a core dump; 0: none.
	Core *Size `json:"core,omitempty"`
}

// CPU is a number of CPUs, such as 0.5, or the CPU time of each process, such as 10m.
type CPU struct {
	Cores float64
	Time  jobtype.Duration
}

const (
	minMemory    = 1 << 20
	minOpenFiles = 8
	// maxCount is the largest number of processes, and the default for files, of Linux.
	maxCount = 4 << 20
	minCores = 0.01
	maxCores = 8192

	second     = jobtype.Duration(time.Second)
	maxCPUTime = 365 * 24 * jobtype.Duration(time.Hour)
)

// Faults returns the limits that are out of range.
func (l Limits) Faults() []error {
	var faults []error
	if l.Memory != 0 && l.Memory < minMemory {
		faults = append(faults, fmt.Errorf("limits.memory: %s is too little: use %s or more", l.Memory, Size(minMemory)))
	}
	if l.PIDs < 0 || l.PIDs > maxCount {
		faults = append(faults, fmt.Errorf("limits.pids: %d is out of range: use 1 to %d", l.PIDs, maxCount))
	}
	if l.OpenFiles != 0 && (l.OpenFiles < minOpenFiles || l.OpenFiles > maxCount) {
		faults = append(faults, fmt.Errorf("limits.open_files: %d is out of range: use %d to %d", l.OpenFiles, minOpenFiles, maxCount))
	}
	return faults
}

// String returns a text that UnmarshalJSON accepts.
func (c CPU) String() string {
	if c.Time > 0 {
		return c.Time.String()
	}
	return strconv.FormatFloat(c.Cores, 'f', -1, 64)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *CPU) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		text = string(data)
	}
	if cores, err := strconv.ParseFloat(text, 64); err == nil && cores >= minCores && cores <= maxCores {
		*c = CPU{Cores: cores}
		return nil
	}
	var spent jobtype.Duration
	if spent.UnmarshalText([]byte(text)) == nil && spent >= second && spent%second == 0 && spent <= maxCPUTime {
		*c = CPU{Time: spent}
		return nil
	}
	return fmt.Errorf("limits.cpu: %.40q is neither a number of CPUs (0.01 to 8192) nor CPU time (whole seconds, such as 90s or 10m, up to 365d)", text)
}

// MarshalJSON implements [json.Marshaler].
func (c CPU) MarshalJSON() ([]byte, error) { return json.Marshal(c.String()) }
