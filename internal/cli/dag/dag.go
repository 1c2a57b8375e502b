package dag

import (
	"github.com/roundsman/roundsman/internal/cli/ui"
)

type commands struct{ *ui.Program }

// Flags of runs of DAGs.
const (
	FlagAs   = "as"
	FlagDev  = "dev"
	FlagFrom = "from"

	flagDeadline    = "deadline"
	flagWorkers     = "workers"
	flagTemporalCLI = "temporal-cli"
)
