package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"

	"github.com/roundsman/roundsman/testsuite"
)

// options of one run of the program.
type options struct {
	only  string
	reps  int
	child string
	// childID and address are for child processes.
	childID, address string
	slots            int
	// jobs is the size of the large group of group_million and group_keyed.
	jobs int
	// shared are job types whose shared queue the child polls in addition to its own.
	shared string
	// postgres is the connection string of the servers' database; empty keeps their state in memory.
	postgres string
}

func (o options) launch() (*testsuite.Server, error) {
	if o.postgres == "" {
		return testsuite.Launch()
	}
	return testsuite.Launch(testsuite.WithArgs("--postgres", o.postgres))
}

// measurement is one benchmark. It prints any number of lines.
type measurement struct {
	name, help string
	measure    func(ctx context.Context, b *bench) error
}

func measurements() []measurement {
	return []measurement{
		{"fanout", "1,000 no-op jobs, 100 in flight, over 4 worker processes, both routings, against the bare SDK", fanout},
		{"events", "history events per job at 1, 16 and 100 in flight", eventsPerJob},
		{"bytes", "bytes of history per job of a group of 1,000, without settings and with 1,100 bytes of them", bytesPerJob},
		{"step_latency", "one activity step on the dev server: schedule, run, next workflow task", stepLatency},
		{"group_size", "CPU of the control plane per job while 1,000, 10,000 and 60,000 jobs wait, 64 and 4 at once", groupSizes},
		{"group_keyed", "10,000, 60,000, 100,000 and 200,000 (10,000 and -jobs N) no-op jobs with dedupe keys, in one group, to its end; 20 minutes", keyedGroup},
		{"group_million", "10,000, then 1,000,000 (-jobs N) no-op jobs without keys, in one group, to its end; an hour", millionGroup},
		{"dag_layers", "DAGs of 1,000, 10,000 and 100,000 no-op tasks, neighbouring and random dependencies, against the bare SDK", dagLayersBench},
		{"dag_chain", "a chain of 100 no-op tasks: one step", dagChainBench},
		{"dag_next", "the pure DAG engine: ns per report at 1k to 1M tasks", dagNextBench},
		{"cores", "the pure cores: ns per event at three sizes", coresBench},
		{"worker_kill", "from kill -9 of a worker to the start of its job elsewhere, heartbeat timeout 5 s, 20 times", workerKill},
		{"join", "from the start of a worker's process to the first job of a running group on it", join},
		{"fleet_surge", "200 workers in one process that start, are killed with SIGKILL and start again at once", fleetSurge},
		{"dag_surge", "the slowest query of the registry while 40 jobs that are DAGs of 700 bytes begin at once", dagSurge},
		{"registry_1000", "history events per hour and CPU with 1,000 simulated workers that beat every 5 s", registry1000},
		{"placement", "1,000 jobs of 50 ms over 4 worker processes with 4 slots each, against the bare SDK", placement},
		{"placement_shared_fleet", "a group next to another that fills half of the fleet with long jobs, against the same group pinned to the free half", placementSharedFleet},
		{"slots_skewed", "cap 4 shared by five queues, all work on one, against a worker with that one queue", slotsSkewed},
		{"seaweedfs_gateway", "weed workers at the gateway: from the dial to the first detection, and 33 vacuums with limit 4", weedFirstDetection},
		{"admission", "request → grant round trips at 1, 8 and 100 askers, against a bare workflow that answers signals", admissionBench},
		{"lane_handover", "from a group's release of its lane to the start of the next group's detection", laneHandover},
		{"seaweedfs", "SeaweedFS against fakes: detection of 100,000 volumes, 33 vacuums with limit 4, kill -9 in the middle of a move", seaweedfsBench},
		{"remote", "10,000 no-op jobs on 200 remote workers behind one gateway, against 200 node workers in one process", remote},
		{"startup", "roundsman dev until ready, warm", startup},
		{"dag_dev", "roundsman start of 100 tasks --dev, from exec to exit", dagDev},
		{"viewers", "calls and memory of 500 idle viewers of 100 job types against ten, and how long a change takes to all of them", viewers},
		{"ticks_1000", "whether all ticks of 1,000 job types at one a minute run, in the open lane and in the exclusive one; 9 minutes", ticks1000},
		{"idle", "history events and server CPU per hour of 20 job types that find nothing", idle},
	}
}

func run(args []string, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.only, "only", "", "run only these measurements, separated by commas")
	flags.IntVar(&o.reps, "reps", 5, "counted runs of each kind, after one that is not counted")
	flags.IntVar(&o.jobs, "jobs", 0, "jobs of group_million and group_keyed; 0: as described")
	flags.StringVar(&o.postgres, "postgres", "", "connection string of an empty PostgreSQL database for the server; without it, its state is in memory")
	flags.StringVar(&o.child, "child", "", "internal: be a child process")
	flags.StringVar(&o.childID, "id", "", "internal: the child's id")
	flags.StringVar(&o.address, "address", "", "internal: the server's address")
	flags.StringVar(&o.shared, "shared", sharedJobType, "internal: the job types whose shared queue the child pulls")
	flags.IntVar(&o.slots, "slots", 0, "internal: the child's slots")
	flags.Usage = func() { usage(stderr, flags) }
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	switch o.child {
	case "":
	case childControl:
		return report(stderr, beControl(ctx, o))
	case childDAG, childDAGBare:
		return report(stderr, beDAGChild(ctx, o))
	case childViewed:
		return report(stderr, beViewed(ctx, o))
	case childGateway, childNatives, childRemotes:
		return report(stderr, beRemoteChild(ctx, o))
	default:
		return report(stderr, beChild(ctx, o))
	}
	chosen, err := choose(o.only)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "bench:", err)
		return 2
	}
	return report(stderr, measureAll(ctx, o, chosen, stdout, stderr))
}

func report(stderr io.Writer, err error) int {
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

func usage(w io.Writer, flags *flag.FlagSet) {
	_, _ = fmt.Fprintln(w, "Usage: go run ./bench [-only NAME,...] [-reps N] [-postgres DSN]\n\nMeasurements:")
	for _, m := range measurements() {
		_, _ = fmt.Fprintf(w, "  %-13s %s\n", m.name, m.help)
	}
	_, _ = fmt.Fprintln(w, "\nFlags:")
	flags.PrintDefaults()
}

func choose(only string) ([]measurement, error) {
	all := measurements()
	if only == "" {
		return all, nil
	}
	var chosen []measurement
	for name := range strings.SplitSeq(only, ",") {
		found := false
		for _, m := range all {
			if m.name == name {
				chosen, found = append(chosen, m), true
			}
		}
		if !found {
			return nil, fmt.Errorf("there is no measurement %q; -help lists them", name)
		}
	}
	return chosen, nil
}

func measureAll(ctx context.Context, o options, chosen []measurement, stdout, stderr io.Writer) error {
	var faults []error
	for _, m := range chosen {
		b := &bench{options: o, out: stdout, log: stderr}
		if err := m.measure(ctx, b); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", m.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(faults...)
}
