package seaweede2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/testsuite"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
	"github.com/roundsman/roundsman/testsuite/sites"
)

func TestMain(m *testing.M) { sites.Main(m, map[string]func(){"cluster": serve}) }

const objects, objectSize = 10, 1000

// serve is a cluster of two servers. One has all volumes. A tail is slow, so that a worker can be killed in the
// middle of a move.
func serve() {
	cluster := fakecluster.New(nil)
	for i := range 2 {
		cluster.Add(fakecluster.Server{Address: fmt.Sprintf("127.0.0.1:%d", 8080+i), Max: 4})
	}
	for id := range uint32(3) {
		cluster.Put(fakecluster.Volume{ID: id + 1, Objects: objects, ObjectSize: objectSize}, "127.0.0.1:8080")
	}
	running, err := cluster.Serve(fakecluster.Options{Delay: func(method string) time.Duration {
		if method == "VolumeTailReceiver" {
			return 3 * time.Second
		}
		return 0
	}})
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(os.Stdout, running.Master)
	select {}
}

// site is a server, a control plane, a cluster and workers.
type site struct {
	*sites.Site
	master  string
	cluster *weed.Cluster
	workers map[string]*sites.Process
}

func newSite(t *testing.T, workers ...string) *site {
	t.Helper()
	s := &site{Site: sites.New(t), workers: map[string]*sites.Process{}}
	served := s.Play("cluster")
	testsuite.WaitFor(t, time.Minute, "the cluster", func() bool { s.master = strings.TrimSpace(served.Stdout.String()); return s.master != "" })
	var err error
	s.cluster, err = weed.Dial(weed.Spec{Masters: []string{s.master}})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.cluster.Close() })
	s.Start("server")
	for _, id := range workers {
		s.workers[id] = s.Start("worker", "--id", id, "--data-dir", filepath.Join(s.Dir, id))
	}
	s.AwaitFresh(workers...)
	return s
}

// apply applies one job type. It is due only when a test starts it.
func (s *site) apply(name string) {
	s.T.Helper()
	s.Apply(fmt.Sprintf("%scluster: {masters: [%q]}\njob_types:\n  %s:\n    handler: %s\n    schedule: {every: 365d, first_run: scheduled}\n", sites.Scaled, s.master, name, name))
}
