package contract

import "time"

// SignalWorkerTrouble takes a WorkerTroubleInput. Runs send it to the fleet, and workers with a full disk.
const SignalWorkerTrouble = "worker-trouble"

// WorkerTroubleInput reports that programs do not start on a process of a worker. An empty Code reports
// that they start again.
type WorkerTroubleInput struct {
	Incarnation
	Code   Code   `json:"code,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Run is the reporting workflow.
	Run string `json:"run,omitempty"`
}

// WorkerTrouble is the reason why a worker gets one item at a time, after a pause. It ends by itself
// when a program starts there. A missing program concerns only the runs that need it. A full disk is a
// warning: the worker gets work as before.
type WorkerTrouble struct {
	// Code is CodeCannotStart, CodeNotInstalled or CodeDiskFull.
	Code Code `json:"code"`
	// Detail is the last error, Run the run that reported it; empty if the worker did.
	Detail string `json:"detail,omitempty"`
	Run    string `json:"run,omitempty"`
	// Since is the time of the first report, At that of the last one.
	Since time.Time `json:"since"`
	At    time.Time `json:"at"`
	// Reason is the whole trouble as a sentence. The registry renders it in results.
	Reason string `json:"reason,omitempty"`
}

// NotInstalledTime is the time after its last report at which the registry forgets a missing program.
// A run that needs the program repeats its report at least every minute while it tries the worker.
const NotInstalledTime = 10 * time.Minute

// DiskFullTime is the time after its last report at which the registry forgets a full disk. The worker
// repeats its report each DiskReportTime.
const (
	DiskFullTime   = 3 * time.Minute
	DiskReportTime = time.Minute
)
