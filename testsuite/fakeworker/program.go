package fakeworker

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

// Main runs a worker until ctx ends. Its flags are those of `weed worker`, and a few for its findings. It prints a line
// for each event:
//
//	detect JOBTYPE CONTEXT | propose KEY DIGEST | start JOB KEY ATTEMPT DIGEST CONTEXT |
//	end JOB | failed JOB | canceled JOB
func Main(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	admin := flags.String("admin", "localhost:23646", "the admin's `host:port`")
	id := flags.String("id", "fake", "worker id")
	jobTypes := flags.String("jobType", strings.Join(JobTypes(), ","), "job types")
	maxDetect := flags.Int("maxDetect", 1, "detections at once")
	maxExecute := flags.Int("maxExecute", 4, "jobs at once")
	found := flags.Int("found", 0, "proposals of each detection")
	last := flags.Duration("jobTime", 0, "how long a job lasts")
	gate := flags.String("gate", "", "the `file` that must exist before a job ends")
	failures := flags.Int("fail", 0, "the first jobs that fail")
	reconnect := flags.Duration("reconnect", time.Second, "the wait before it connects again")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var mu sync.Mutex
	var failed atomic.Int64
	tell := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(stdout, format+"\n", args...)
	}
	return Run(ctx, Options{
		Admin: *admin, ID: *id, JobTypes: strings.Split(*jobTypes, ","), MaxDetect: *maxDetect, MaxExecute: *maxExecute, Reconnect: *reconnect,
		Detect: func(_ context.Context, in *pb.RunDetectionRequest, emit Emit) error {
			tell("detect %s %s", in.GetJobType(), cluster(in.GetClusterContext()))
			for n := 1; n <= *found; n++ {
				proposal := Proposal(in.GetJobType(), n, time.Now())
				tell("propose %q %s", proposal.GetDedupeKey(), digest(proposal.GetParameters(), proposal.GetLabels()))
				if err := emit(n < *found, proposal); err != nil {
					return err
				}
			}
			return nil
		},
		Execute: func(ctx context.Context, in *pb.ExecuteJobRequest, report func(float64, string)) (*pb.JobResult, error) {
			job := in.GetJob()
			tell("start %s %q %d %s %s", job.GetJobId(), job.GetDedupeKey(), in.GetAttempt(), digest(job.GetParameters(), job.GetLabels()), cluster(in.GetClusterContext()))
			report(50, "half")
			if !await(ctx, *last, *gate) {
				tell("canceled %s", job.GetJobId())
				return nil, context.Cause(ctx)
			}
			if int(failed.Add(1)) <= *failures {
				tell("failed %s", job.GetJobId())
				return nil, errors.New("disk full")
			}
			tell("end %s", job.GetJobId())
			return &pb.JobResult{Summary: "done by " + *id, OutputValues: map[string]*pb.ConfigValue{"pid": Value(os.Getpid())}}, nil
		},
	})
}

// await waits for a time, and then until the gate exists, if it has a name. It returns false if ctx ends first.
func await(ctx context.Context, last time.Duration, gate string) bool {
	for wait := last; ; wait = 20 * time.Millisecond {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return false
		}
		if _, err := os.Stat(gate); gate == "" || err == nil {
			return true
		}
	}
}

// cluster returns a cluster context as a text without spaces.
func cluster(c *pb.ClusterContext) string {
	return fmt.Sprintf("masters=%s;filers=%s;s3=%s", strings.Join(c.GetMasterGrpcAddresses(), ","), strings.Join(c.GetFilerAddresses(), ","), strings.Join(c.GetS3GrpcAddresses(), ","))
}
