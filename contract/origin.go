package contract

// Origin is the kind of request that started a run of a job type.
type Origin string

// The origins of runs.
const (
	OriginSchedule   Origin = "schedule"
	OriginOperator   Origin = "operator"
	OriginBackfill   Origin = "backfill"
	OriginApply      Origin = "apply" // the first run of a new job type
	OriginSubmission Origin = "submission"
	OriginRetry      Origin = "retry"
	OriginUnknown    Origin = "unknown" // the audit log does not reach back to the start
)
