package realcluster

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/testsuite"
)

// RestartEnvironment names the environment variable with a program that kills and starts the volume server
// whose HTTP address it gets.
const RestartEnvironment = "ROUNDSMAN_TEST_SEAWEEDFS_RESTART"

// Restart kills -9 a volume server and starts it again. Without a program for that the test is skipped.
func (c *Cluster) Restart(address string) {
	c.T.Helper()
	program := os.Getenv(RestartEnvironment)
	if program == "" {
		c.T.Skipf("%s names no program", RestartEnvironment)
	}
	host, ports, _ := strings.Cut(address, ":")
	port, _, _ := strings.Cut(ports, ".")
	printed, err := exec.CommandContext(c.T.Context(), program, host+":"+port).CombinedOutput() //nolint:gosec // the person's own
	require.NoError(c.T, err, "%s", printed)
	testsuite.WaitFor(c.T, time.Minute, address, func() bool {
		_, err := Fetch(c.T.Context(), http.MethodGet, "http://"+host+":"+port+"/status", nil)
		return err == nil
	})
}
