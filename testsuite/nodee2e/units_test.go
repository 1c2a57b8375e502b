package nodee2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/sites"
	"github.com/roundsman/roundsman/workers"
)

// TestUnits lets systemd itself judge the unit files, and checks that roundsman accepts their command lines.
func TestUnits(t *testing.T) {
	t.Parallel()
	root, err := testsuite.ModuleRoot()
	require.NoError(t, err)
	for _, name := range []string{"roundsman-worker.service", "roundsman-server.service"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unit, err := os.ReadFile(filepath.Join(root, "deploy", "systemd", name))
			require.NoError(t, err)
			line := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindSubmatch(unit)
			require.Len(t, line, 2)
			// --help comes after the flags were understood.
			words := strings.Fields(string(line[1]))
			words = append(words[1:len(words)-1], "--help")
			help := (&sites.Site{T: t, Dir: t.TempDir()}).Play("roundsman", words...)
			require.Equal(t, 0, help.Code(t, time.Minute), help.Stderr.Last())

			analyze, err := exec.LookPath("systemd-analyze")
			if err != nil {
				t.Skip("systemd-analyze is not installed: the unit was not verified")
			}
			path := filepath.Join(t.TempDir(), name)
			installed := strings.ReplaceAll(string(unit), "/usr/local/bin/roundsman", sites.Self(t))
			installed = regexp.MustCompile(`(?m)^(User|Group)=.*$`).ReplaceAllString(installed, "") // no such user here
			require.NoError(t, os.WriteFile(path, []byte(installed), 0o600))
			out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", path).CombinedOutput()
			require.NoError(t, err, string(out))
			assert.NotContains(t, string(out), name, "systemd complains")
		})
	}
}

// TestStopTimeoutIsLongEnough: systemd must not kill a worker that drains.
func TestStopTimeoutIsLongEnough(t *testing.T) {
	t.Parallel()
	root, err := testsuite.ModuleRoot()
	require.NoError(t, err)
	unit, err := os.ReadFile(filepath.Join(root, "deploy", "systemd", "roundsman-worker.service"))
	require.NoError(t, err)
	found := regexp.MustCompile(`(?m)^TimeoutStopSec=(\d+)$`).FindSubmatch(unit)
	require.Len(t, found, 2)
	seconds, err := strconv.Atoi(string(found[1]))
	require.NoError(t, err)
	// The connection is dialed lazily and never used.
	server := testsuite.StartServer(t)
	node, err := workers.NewNode(server.Client(t), workers.NodeOptions{ID: "node-a", DataDir: t.TempDir(), Handlers: handlers()})
	require.NoError(t, err)
	defer func() { require.NoError(t, node.Stop(t.Context())) }()
	assert.Greater(t, time.Duration(seconds)*time.Second, node.StopBudget()+10*time.Second)
}
