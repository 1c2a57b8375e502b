package gatewaye2e

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/edge/gateway"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/testsuite/sites"
)

func TestMain(m *testing.M) { sites.Main(m, nil) }

// site is a server, a control plane and gateways.
type site struct{ *sites.Site }

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{sites.New(t)}
	s.Start("server")
	return s
}

// unhurried has the default thresholds: a worker whose pings a busy machine delays by seconds keeps its id.
func unhurried(t *testing.T) *site {
	t.Helper()
	s := &site{sites.With(t, "version: 1\njob_types: {}\n")}
	s.Start("server")
	return s
}

// processOf returns the newest process of a worker.
func (s *site) processOf(id string) *sites.Process {
	for _, p := range slices.Backward(s.Processes) {
		if p.Args[len(p.Args)-1] == id {
			return p
		}
	}
	s.T.Fatalf("no process of %s", id)
	return nil
}

// core is a gateway in this process, without HTTP.
func (s *site) core() *gateway.Gateway {
	s.T.Helper()
	secret, err := gateway.SharedSecret(s.T.Context(), s.Client.Temporal())
	require.NoError(s.T, err)
	g, err := gateway.New(gateway.Options{
		Client: s.Client.Temporal(), Namespace: s.Client.Namespace(), Converter: starter.DataConverter(), Secret: secret,
	})
	require.NoError(s.T, err)
	return g
}

// apply applies job types, which are due only when a test starts them.
func (s *site) apply(jobTypes string) {
	s.T.Helper()
	s.Apply(sites.Scaled + "lanes: {free: {exclusive: false}, default: {}}\njob_types:\n" + jobTypes)
}

// jobType is one for apply.
func jobType(name, handler, policy string) string {
	return fmt.Sprintf("  %s:\n    handler: %s\n    lane: free\n    schedule: {every: 365d, first_run: scheduled}\n    policy: {%s}\n", name, handler, policy)
}
