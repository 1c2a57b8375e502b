package sites

import (
	"io"
	"os"
	"testing"

	"github.com/roundsman/roundsman"
	"github.com/roundsman/roundsman/jobtype"
)

// roleEnv is the environment variable with the role of a process. Without it the process runs tests.
const roleEnv = "ROUNDSMAN_ROLE"

const role = "roundsman"

// Main is TestMain. A process started by [Site.Play] plays its role. Without one it is a roundsman with handlers.
func Main(m *testing.M, roles map[string]func(), handlers ...jobtype.Handler) {
	playing := os.Getenv(roleEnv)
	if playing == "" {
		os.Exit(m.Run()) //nolint:forbidigo // TestMain must exit.
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
