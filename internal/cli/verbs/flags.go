package verbs

const (
	flagForce = "force"
	flagKind  = "kind"
	flagFrom  = "from"
	flagAs    = "as"
)
