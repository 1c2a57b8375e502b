package workflows

// Change ids for workflow.GetVersion. Each stays until no recorded history and no running workflow is older.
//
// There is none yet: before the first release, histories under testsuite/replay/testdata are recorded again when a
// workflow changes, and the commit message notes it.

// Versions of the workflows, for the names of recorded histories:
// testsuite/replay/testdata/<workflow>/v<N>-<scenario>.json.gz.
const (
	JobGroupVersion  = 1
	FleetVersion     = 1
	DAGVersion       = 1
	AdmissionVersion = 1
	AuditVersion     = 1
	NotifyVersion    = 1
)
