package seaweedfs

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
)

// fixture is a fake cluster over gRPC, with handlers.
type fixture struct {
	*fakecluster.Cluster
	t        *testing.T
	block    json.RawMessage
	servers  []string
	running  *fakecluster.Running
	handlers map[string]jobtype.Handler
}

// newFixture has servers in two racks, with room for ten volumes each.
func newFixture(t *testing.T, servers int, options weed.KeeperOptions) *fixture {
	t.Helper()
	f := &fixture{Cluster: fakecluster.New(nil), t: t}
	f.SetVolumeLimit(1)
	for i := range servers {
		address := fmt.Sprintf("127.0.0.1:%d", 8080+i)
		f.servers = append(f.servers, address)
		f.Add(fakecluster.Server{Address: address, DataCenter: "dc1", Rack: fmt.Sprintf("r%d", i%2), Max: 10})
	}
	running, err := f.Serve(fakecluster.Options{})
	require.NoError(t, err)
	t.Cleanup(running.Stop)
	f.running = running
	f.block, err = json.Marshal(weed.Spec{Masters: []string{running.Master}})
	require.NoError(t, err)
	if options.Linger == 0 {
		options.Linger = 10 * time.Millisecond
	}
	f.handlers = f.process(options)
	return f
}

// withFiler adds a filer to the cluster of the configuration.
func (f *fixture) withFiler() {
	f.t.Helper()
	var err error
	f.block, err = json.Marshal(weed.Spec{Masters: []string{f.running.Master}, Filers: []string{f.running.Filer}})
	require.NoError(f.t, err)
}

// process returns handlers with a lease of their own, as in another process.
func (f *fixture) process(options weed.KeeperOptions) map[string]jobtype.Handler {
	connections := NewConnections(options)
	f.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(f.t, connections.Close(ctx))
	})
	handlers := map[string]jobtype.Handler{}
	for _, handler := range New(connections, newRunner()) {
		handlers[handler.Descriptor().Name] = handler
	}
	return handlers
}

func (f *fixture) input(params string) jobtype.DetectInput {
	return jobtype.DetectInput{Cluster: f.block, Params: json.RawMessage(params)}
}

func (f *fixture) detect(name, params string) []jobtype.Proposal {
	f.t.Helper()
	found := jobtypetest.Detect(f.t.Context(), f.handlers[name], f.input(params))
	require.NoError(f.t, found.Err)
	require.Empty(f.t, found.Invalid)
	return found.Proposals
}

func (f *fixture) job(params string, proposal jobtype.Proposal) jobtype.Job {
	f.t.Helper()
	job, err := jobtypetest.JobOf(f.input(params), proposal, nil)
	require.NoError(f.t, err)
	return job
}

func (f *fixture) execute(ctx context.Context, name, params string, proposal jobtype.Proposal) jobtypetest.Execution {
	f.t.Helper()
	return jobtypetest.Execute(ctx, f.handlers[name], f.job(params, proposal))
}
