package seaweedfs

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/jobtype/jobtypetest"
	"github.com/roundsman/roundsman/testsuite/fakecluster"
	"github.com/roundsman/roundsman/testsuite/realcluster"
)

// recordCalls records the calls again from a real cluster of four servers.
var recordCalls = flag.Bool("record", false, "record the calls of each handler on the cluster in "+realcluster.Environment)

const callsFile = "testdata/calls.json"

// looks change nothing. Their number depends on the duration of calls.
var looks = []string{"VolumeList", "LeaseAdminToken", "ReleaseAdminToken", "ReadVolumeFileStatus", "VolumeStatus", "VolumeEcShardsInfo", "CopyFile", "KvGet"}

// shardCalls come in the order of the targets' addresses. These differ.
var shardCalls = []string{"VolumeEcShardsCopy", "VolumeEcShardsMount"}

func changes(calls []string) (made []string) {
	for _, call := range calls {
		// A server sends VolumeTailSender to another one.
		if method := call[strings.LastIndex(call, " ")+1:]; method != "VolumeTailSender" && !slices.Contains(looks, method) {
			made = append(made, method)
		}
	}
	for begin := 0; begin < len(made); begin++ {
		end := begin
		for end < len(made) && slices.Contains(shardCalls, made[end]) {
			end++
		}
		slices.Sort(made[begin:end])
		begin = max(begin, end)
	}
	return made
}

// jobs are one job of each handler, in this order on one cluster with two volumes on one of its four servers.
var jobs = []struct{ name, handler, settings, stop string }{
	{"vacuum", "vacuum", `"garbage_threshold":0.0001`, ""},
	{"move stopped before its copy", "volume_balance", `"imbalance_threshold":0.01`, "VolumeCopy"},
	{"repair", "volume_balance", `"min_server_count":1000`, ""},
	{"move", "volume_balance", `"imbalance_threshold":0.01`, ""},
	{"encoding", "erasure_coding", `"quiet_for_seconds":0,"fullness_ratio":0,"min_size_mb":1`, ""},
}

// callsOf runs the jobs and returns the calls of each.
func callsOf(t *testing.T, handlers map[string]jobtype.Handler, input func(params string) jobtype.DetectInput, filter string, stop func(method string, kill func()), taken func() []string, settle func()) map[string][]string {
	t.Helper()
	made := map[string][]string{}
	for _, j := range jobs {
		params := fmt.Sprintf(`{%s,%s}`, filter, j.settings)
		found := jobtypetest.Detect(t.Context(), handlers[j.handler], input(params))
		require.NoError(t, found.Err)
		require.NotEmpty(t, found.Proposals, "%s: %v", j.name, found.Explanations)
		job, err := jobtypetest.JobOf(input(params), found.Proposals[0], nil)
		require.NoError(t, err)
		ctx, kill := context.WithCancelCause(t.Context())
		stop(j.stop, func() { kill(jobtype.ErrLeaseLost) })
		taken()
		done := jobtypetest.Execute(ctx, handlers[j.handler], job)
		require.Equal(t, j.stop != "", done.Err != nil, "%s: %v", j.name, done.Err)
		made[j.name] = changes(taken())
		kill(nil)
		settle()
	}
	return made
}

// TestFakeSeesTheCallsOfTheRealOne: each job sends the same calls in the same order to the fake as to real
// servers.
func TestFakeSeesTheCallsOfTheRealOne(t *testing.T) {
	t.Parallel()
	if *recordCalls {
		recordRealCalls(t)
	}
	text, err := os.ReadFile(callsFile)
	require.NoError(t, err)
	var want map[string][]string
	require.NoError(t, json.Unmarshal(text, &want))
	f := newFixture(t, 4, weed.KeeperOptions{})
	f.withFiler()
	for id := range uint32(2) {
		f.Put(fakecluster.Volume{ID: id + 1, Objects: 40, Deleted: 4, ObjectSize: 60_000}, f.servers[0])
	}
	stop := func(method string, kill func()) {
		f.SetFault(func(_ context.Context, called, _ string) fakecluster.Verdict {
			if called == method {
				kill()
				return fakecluster.FailBefore
			}
			return fakecluster.Pass
		})
	}
	require.Equal(t, want, callsOf(t, f.handlers, f.input, `"collection_filter":""`, stop, f.Calls, func() {}))
}

func recordRealCalls(t *testing.T) {
	t.Helper()
	s := newSite(t)
	gate := s.Gate()
	var err error
	s.block, err = json.Marshal(weed.Spec{Masters: []string{gate.Master}, Filers: []string{gate.Pass(s.Filer())}})
	require.NoError(t, err)
	s.Grow(2, "000", s.Servers()[0])
	s.Write(80, 60_000, "000")
	s.Heartbeat()
	stop := func(method string, kill func()) {
		if method == "" {
			return
		}
		hit := gate.Hold(method, 0, realcluster.Before)
		go func() {
			select {
			case <-hit:
				kill()
			case <-t.Context().Done():
			}
		}()
	}
	made := callsOf(t, s.handlers, s.input, fmt.Sprintf(`"collection_filter":"^%s$"`, s.Collection), stop, gate.Calls, s.Heartbeat)
	s.Verify()
	text, err := json.MarshalIndent(made, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll("testdata", 0o750))
	require.NoError(t, os.WriteFile(callsFile, append(text, '\n'), 0o600))
}
