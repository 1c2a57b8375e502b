package verbs

const (
	flagForce    = "force"
	flagKind     = "kind"
	flagRestore  = "restore"
	flagBackfill = "backfill"
)
