package weede2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
	"github.com/roundsman/roundsman/testsuite/fakeworker"
	"github.com/roundsman/roundsman/testsuite/sites"
)

func TestMain(m *testing.M) {
	sites.Main(m, map[string]func(){"weed": func() {
		_ = fakeworker.Main(context.Background(), os.Args[1:], os.Stdout) // it is killed
	}})
}

// site is a server, a control plane, a gateway and weed workers.
type site struct {
	*sites.Site
	control       *sites.Process
	gateway       *sites.Process
	admin, stream string
	master        string
	// masters is the block of a configuration with the master of a cluster without volumes.
	masters string
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{Site: sites.New(t), admin: sites.FreeAddress(t), stream: sites.FreeAddress(t)}
	served, err := fakecluster.New(time.Now).Serve(fakecluster.Options{})
	require.NoError(t, err)
	t.Cleanup(served.Stop)
	s.master, s.masters = served.Master, fmt.Sprintf("cluster: {masters: [%q]}\n", served.Master)
	s.control = s.Start("server")
	s.startGateway()
	return s
}

func (s *site) startGateway() {
	s.gateway = s.Start("gateway", "seaweedfs", "--listen", s.admin, "--grpc-listen", s.stream, "--data-dir", filepath.Join(s.Dir, "gateway"))
}

// weed starts a weed worker.
func (s *site) weed(id string, args ...string) *sites.Process {
	return s.Play("weed", append([]string{"-admin", s.admin, "-id", id, "-jobType", "vacuum,volume_balance"}, args...)...)
}

// gate is the file for -gate.
func (s *site) gate() string { return filepath.Join(s.Dir, "gate") }

func (s *site) openGate() {
	s.T.Helper()
	require.NoError(s.T, os.WriteFile(s.gate(), nil, 0o600))
}

// apply applies the job type vacuum, which is due only when a test starts it.
func (s *site) apply(policy string) {
	s.T.Helper()
	s.Apply(fmt.Sprintf("%s%sjob_types:\n  vacuum:\n    handler: weed-vacuum\n    schedule: {every: 365d, first_run: scheduled}\n    policy: {%s}\n", sites.Scaled, s.masters, policy))
}

// awaitLines waits until the processes have printed n lines that begin with prefix.
func (s *site) awaitLines(n int, prefix string, from ...*sites.Process) {
	s.T.Helper()
	testsuite.WaitFor(s.T, time.Minute, fmt.Sprintf("%d lines %q", n, prefix), func() bool {
		count := 0
		for _, p := range from {
			count += len(p.Stdout.With(prefix))
		}
		return count >= n
	})
}
