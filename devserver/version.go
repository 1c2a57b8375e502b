package devserver

import (
	"cmp"
	"fmt"
	"runtime/debug"

	uiversion "github.com/temporalio/ui-server/v2/server/version"
	"go.temporal.io/server/common/headers"
)

// The Makefile passes `-X github.com/roundsman/roundsman/devserver.stamped=$(git describe)`.
var stamped string //nolint:gochecknoglobals // the linker can only write to a package variable

func versionLine() string {
	return fmt.Sprintf("roundsman-devserver %s (Temporal server v%s, Web UI v%s)",
		cmp.Or(stamped, recorded(), "dev"), headers.ServerVersion, uiversion.UIVersion)
}

// recorded is the version that the Go toolchain noted, as of `go install …@v1.2.3`.
func recorded() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "(devel)" {
		return ""
	}
	return info.Main.Version
}
