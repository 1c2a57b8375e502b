package contract

import "time"

// SignalWorkerTrouble takes a WorkerTroubleInput. Runs send it to the fleet, and workers with a full disk.
const SignalWorkerTrouble = "worker-trouble"

// WorkerTroubleInput reports that programs do not start on a process of a worker; an empty Code, that they do.
type WorkerTroubleInput struct {
	Incarnation
	Code   Code   `json:"code,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Run is the reporting workflow.
	Run string `json:"run,omitempty"`
}

// WorkerTrouble is the reason why a worker gets one item at a time. It ends when a program starts there. A missing
// program concerns only the runs that need it. A full disk is only a warning.
type WorkerTrouble struct {
	// Code is CodeCannotStart, CodeNotInstalled or CodeDiskFull.
	Code Code `json:"code"`
	// Detail is the last error, Run the run that reported it; empty if the worker did.
	Detail string `json:"detail,omitempty"`
	Run    string `json:"run,omitempty"`
	// Times of the first and of the last report.
	Since time.Time `json:"since"`
	At    time.Time `json:"at"`
	// Reason is the whole trouble as a sentence. The registry renders it in results.
	Reason string `json:"reason,omitempty"`
}

// NotInstalledTime is the life of a report. A run that needs the program repeats it every minute.
const NotInstalledTime = 10 * time.Minute

// DiskFullTime is the life of a report, which the worker repeats each DiskReportTime.
const (
	DiskFullTime   = 3 * time.Minute
	DiskReportTime = time.Minute
)
