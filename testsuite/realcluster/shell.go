package realcluster

import (
	"os"
	"os/exec"
	"strings"
)

// ShellEnvironment names the environment variable with the program `weed`.
const ShellEnvironment = "ROUNDSMAN_TEST_WEED"

// Weed returns the program `weed`. Without one the test is skipped.
func (c *Cluster) Weed() string {
	c.T.Helper()
	program := os.Getenv(ShellEnvironment)
	if program == "" {
		c.T.Skipf("%s names no weed", ShellEnvironment)
	}
	return program
}

// Shell runs commands of `weed shell` under its lock, and returns their output.
func (c *Cluster) Shell(commands ...string) string {
	c.T.Helper()
	command := exec.CommandContext(c.T.Context(), c.Weed(), "shell", "-master="+c.Master) //nolint:gosec // the person's own
	command.Stdin = strings.NewReader("lock\n" + strings.Join(commands, "\n") + "\nunlock\n")
	printed, err := command.CombinedOutput()
	if err != nil || strings.Contains(string(printed), "error: ") || strings.Contains(string(printed), "unknown command: ") {
		c.T.Fatalf("%v: %s", err, printed)
	}
	return string(printed)
}
