package arch

// largeSizes holds the sizes of types above the bounds; 0 stands for the bound. Entries only fall: remove the entry of
// a type that reaches the bounds.
var largeSizes = map[string]size{ //nolint:gochecknoglobals // constant table
	"dag/spec.unit":                   {27, 0},
	"internal/cli/runs.commands":      {0, 68},
	"internal/edge/api.API":           {0, 83},
	"internal/engine/fleet.Registry":  {0, 71},
	"internal/seaweedfs/steps.Encode": {24, 0},
	"internal/seaweedfs/steps.Move":   {26, 0},
}
