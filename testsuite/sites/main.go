package sites

import (
	"io"
	"os"
	"testing"

	"github.com/roundsman/roundsman"
	"github.com/roundsman/roundsman/internal/app"
	"github.com/roundsman/roundsman/jobtype"
)

// roleEnv names the role that a process of the test binary plays; none: it runs tests.
const roleEnv = "ROUNDSMAN_ROLE"

// role is that of a roundsman.
const role = "roundsman"

// Main is TestMain. A process that [Site.Play] has started plays its role; without one it
// is a roundsman with handlers.
func Main(m *testing.M, roles map[string]func(), handlers ...jobtype.Handler) {
	if code, shim := app.ShimCode(os.Args[1:]); shim {
		os.Exit(code) //nolint:forbidigo // as cmd/roundsman's main does
	}
	playing := os.Getenv(roleEnv)
	if playing == "" {
		os.Exit(m.Run()) //nolint:forbidigo // what TestMain is for
	}
	go func() { // Standard input ends with the test binary.
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3) //nolint:forbidigo // this is cmd/roundsman's main
	}()
	if play, other := roles[playing]; other {
		play()
		return
	}
	os.Args[0] = "roundsman"             // Texts name the binary.
	os.Exit(roundsman.Main(handlers...)) //nolint:forbidigo // as above
}
