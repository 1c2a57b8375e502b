package seaweedfs

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/plan"
	"github.com/roundsman/roundsman/internal/seaweedfs/steps"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
)

// realMaster names the environment variable with the HTTP address of a master whose
// cluster these tests may change. It needs four volume servers or more.
const realMaster = "ROUNDSMAN_TEST_SEAWEEDFS"

// site is a real cluster, with objects of one collection.
type site struct {
	t          *testing.T
	master     string
	collection string
	block      json.RawMessage
	handlers   map[string]jobtype.Handler
	objects    map[string][sha256.Size]byte
}

func newSite(t *testing.T) *site {
	t.Helper()
	master := os.Getenv(realMaster)
	if master == "" {
		t.Skipf("%s names no real cluster", realMaster)
	}
	block, err := json.Marshal(weed.Spec{Masters: []string{master}})
	require.NoError(t, err)
	s := &site{t: t, master: master, collection: fmt.Sprintf("rt%d", time.Now().UnixNano()), block: block, objects: map[string][sha256.Size]byte{}}
	s.handlers = s.process()
	return s
}

// process returns handlers with a lease of their own.
func (s *site) process() map[string]jobtype.Handler {
	connections := NewConnections(weed.KeeperOptions{})
	s.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(s.t, connections.Close(ctx))
	})
	handlers := map[string]jobtype.Handler{}
	for _, handler := range New(connections, newRunner()) {
		handlers[handler.Descriptor().Name] = handler
	}
	return handlers
}

func (s *site) get(url string, into any) {
	s.t.Helper()
	body, err := fetch(s.t.Context(), http.MethodGet, url, nil)
	require.NoError(s.t, err)
	require.NoError(s.t, json.Unmarshal(body, into), "%s", body)
}

func fetch(ctx context.Context, method, url string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("%s: %s: %s", url, response.Status, content)
	}
	return content, err
}

// grow makes volumes on one server, and the replicas where the master wants them.
func (s *site) grow(count int, placement string, on plan.Server) {
	s.t.Helper()
	var made struct {
		Count int    `json:"count"`
		Error string `json:"error"`
	}
	s.get(fmt.Sprintf("http://%s/vol/grow?collection=%s&count=%d&replication=%s&dataCenter=%s&rack=%s&dataNode=%s",
		s.master, s.collection, count, placement, on.DataCenter, on.Rack, on.Address), &made)
	require.Empty(s.t, made.Error)
}

type assigned struct {
	Fid   string `json:"fid"`
	URL   string `json:"url"`
	Error string `json:"error"`
}

// write stores objects of random sizes up to 2*size, and deletes every tenth.
func (s *site) write(count, size int, placement string) {
	s.t.Helper()
	for i := range count {
		var place assigned
		s.get(fmt.Sprintf("http://%s/dir/assign?collection=%s&replication=%s", s.master, s.collection, placement), &place)
		require.Empty(s.t, place.Error)
		content := make([]byte, 1+(i*7919)%(2*size))
		_, err := rand.Read(content)
		require.NoError(s.t, err)
		url := "http://" + place.URL + "/" + place.Fid
		_, err = fetch(s.t.Context(), http.MethodPost, url, content)
		require.NoError(s.t, err)
		if i%10 == 9 {
			_, err = fetch(s.t.Context(), http.MethodDelete, url, nil)
			require.NoError(s.t, err)
			continue
		}
		s.objects[place.Fid] = sha256.Sum256(content)
	}
}

// verify reads every object from every server that the master names for its volume.
func (s *site) verify() {
	s.t.Helper()
	servers := map[string][]string{}
	for fid, sum := range s.objects {
		volume, _, _ := strings.Cut(fid, ",")
		if servers[volume] == nil {
			var found struct {
				Locations []struct {
					URL string `json:"url"`
				} `json:"locations"`
			}
			s.get(fmt.Sprintf("http://%s/dir/lookup?volumeId=%s", s.master, volume), &found)
			for _, location := range found.Locations {
				servers[volume] = append(servers[volume], location.URL)
			}
			require.NotEmpty(s.t, servers[volume], "volume %s", volume)
		}
		for _, server := range servers[volume] {
			content, err := fetch(s.t.Context(), http.MethodGet, "http://"+server+"/"+fid, nil)
			require.NoError(s.t, err)
			require.Equal(s.t, sum, sha256.Sum256(content), "%s on %s", fid, server)
		}
	}
	s.onDisk(slices.Collect(maps.Keys(servers)))
	s.t.Logf("%d objects of %d volumes are what was written", len(s.objects), len(servers))
}

// onDisk sees that no server only holds the files of a volume open.
func (s *site) onDisk(volumes []string) {
	s.t.Helper()
	cluster, err := weed.Dial(weed.Spec{Masters: []string{s.master}})
	require.NoError(s.t, err)
	defer cluster.Close()
	for _, server := range s.servers() {
		for _, volume := range volumes {
			id, err := strconv.ParseUint(volume, 10, 32)
			require.NoError(s.t, err)
			replica := cluster.Replica(s.t.Context(), server.Address, uint32(id))
			require.NotEqual(s.t, steps.Unknown, replica.Presence, "volume %s on %s: %s", volume, server.Address, replica.Why)
		}
	}
}

func (s *site) input(params string) jobtype.DetectInput {
	return jobtype.DetectInput{Cluster: s.block, Params: json.RawMessage(params), MaxResults: 100}
}

// run detects and executes until nothing is found any more.
func (s *site) run(name, params string) (jobs int) {
	s.t.Helper()
	for range 5 {
		found := jobtypetest.Detect(s.t.Context(), s.handlers[name], s.input(params))
		require.NoError(s.t, found.Err)
		if len(found.Proposals) == 0 {
			return jobs
		}
		for _, proposal := range found.Proposals {
			job, err := jobtypetest.JobOf(s.input(params), proposal, nil)
			require.NoError(s.t, err)
			began := time.Now()
			done := jobtypetest.Execute(s.t.Context(), s.handlers[name], job)
			s.t.Logf("%s: %s (%v) %v", proposal.Summary, done.Result.Summary, time.Since(began).Round(time.Millisecond), done.Err)
			if done.Err != nil {
				s.t.Errorf("%s: %v", proposal.Summary, done.Err)
			}
			jobs++
		}
		if s.t.Failed() {
			return jobs
		}
		s.heartbeat()
	}
	return jobs
}

// heartbeat waits until the master has heard of every change.
func (s *site) heartbeat() {
	timer := time.NewTimer(6 * time.Second)
	defer timer.Stop()
	<-timer.C
}

func (s *site) servers() []plan.Server {
	s.t.Helper()
	cluster, err := weed.Dial(weed.Spec{Masters: []string{s.master}})
	require.NoError(s.t, err)
	defer cluster.Close()
	topology, err := cluster.Topology(s.t.Context())
	require.NoError(s.t, err)
	require.GreaterOrEqual(s.t, len(topology.Servers), 4)
	return topology.Servers
}

// TestRealMovesAndEncodings moves, encodes and balances on a real cluster.
func TestRealMovesAndEncodings(t *testing.T) {
	for _, placement := range []string{"000", "001", "010"} {
		t.Run(placement, func(t *testing.T) {
			s := newSite(t)
			servers := s.servers()
			s.grow(6, placement, servers[0])
			s.write(120, 60_000, placement)
			s.heartbeat()
			s.verify()
			require.NotZero(t, s.run("volume_balance", fmt.Sprintf(`{"collection_filter":"^%s$","imbalance_threshold":0.01}`, s.collection)))
			s.verify()
			require.NotZero(t, s.run("erasure_coding", fmt.Sprintf(`{"collection_filter":"^%s$","quiet_for_seconds":0,"fullness_ratio":0,"min_size_mb":1}`, s.collection)))
			s.verify()
		})
	}
}

// TestRealKillsInAMove ends the worker of a move in every step of it, as SIGKILL does:
// nothing is undone and its lease ends by itself. The next attempt completes the move.
// Of a long copy the server continues by itself.
func TestRealKillsInAMove(t *testing.T) {
	s := newSite(t)
	on := s.servers()[0]
	s.grow(7, "000", on)
	s.write(140, 500_000, "000")
	s.heartbeat()
	params := fmt.Sprintf(`{"collection_filter":"^%s$","imbalance_threshold":0.01,"io_byte_per_second":2000000}`, s.collection)
	found := jobtypetest.Detect(t.Context(), s.handlers["volume_balance"], s.input(params))
	require.NoError(t, found.Err)
	require.GreaterOrEqual(t, len(found.Proposals), 3)
	for i, stage := range []string{"mark-readonly", "copy", "tail", "delete"} {
		if i >= len(found.Proposals) {
			break
		}
		job, err := jobtypetest.JobOf(s.input(params), found.Proposals[i], nil)
		require.NoError(t, err)
		ctx, kill := context.WithCancelCause(t.Context())
		killed := jobtypetest.Execute(ctx, &killer{Handler: s.process()["volume_balance"], stage: stage, kill: kill}, job)
		t.Logf("%s: %v", stage, killed.Err)
		job.Attempt, job.Checkpoint = 2, killed.LastCheckpoint()
		began := time.Now()
		done := jobtypetest.Execute(t.Context(), s.handlers["volume_balance"], job)
		require.NoError(t, done.Err)
		t.Logf("%s: %s after %v", stage, done.Result.Summary, time.Since(began).Round(time.Millisecond))
		s.heartbeat()
		s.verify()
	}
}

// killer cancels an execution a moment after it reports a stage.
type killer struct {
	jobtype.Handler
	stage string
	kill  context.CancelCauseFunc
	// soon kills at once: short calls end within the usual delay.
	soon bool
}

// Execute implements [jobtype.Handler].
func (k *killer) Execute(ctx context.Context, job jobtype.Job, progress jobtype.Progress) (jobtype.Result, error) {
	return k.Handler.Execute(ctx, job, &stages{progress, k})
}

type stages struct {
	jobtype.Progress
	killer *killer
}

// Report implements [jobtype.Progress].
func (p *stages) Report(percent float64, stage, message string) {
	p.Progress.Report(percent, stage, message)
	if stage == p.killer.stage {
		after := 20 * time.Millisecond
		if p.killer.soon {
			after = time.Millisecond
		}
		time.AfterFunc(after, func() { p.killer.kill(jobtype.ErrLeaseLost) })
	}
}
