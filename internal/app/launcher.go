package app

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/starter"
)

const (
	serverBinary = "roundsman-devserver"
	// serverBinaryEnv names a server binary if none is next to this one or on PATH.
	serverBinaryEnv = "ROUNDSMAN_DEVSERVER"
)

type launcher interface {
	run(DevServer) (*child, error)
	await(context.Context, *child, DevServer) (ServerReady, error)
}

func newLauncher(options DevServer) (launcher, error) {
	if options.TemporalCLI != "" {
		path, err := exec.LookPath(options.TemporalCLI)
		if err != nil {
			return nil, fmt.Errorf("--temporal-cli %s: %w", options.TemporalCLI, err)
		}
		return &temporalCLI{path: path}, nil
	}
	path, err := findServer(options)
	if err != nil {
		return nil, err
	}
	return &embedded{path: path}, nil
}

func findServer(options DevServer) (string, error) {
	for _, path := range []string{options.Binary, os.Getenv(serverBinaryEnv)} {
		if path == "" {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("dev server: %w", err)
		}
		return path, nil
	}
	if options.Executable != "" {
		path := filepath.Join(filepath.Dir(options.Executable), serverBinary)
		if info, err := os.Stat(path); err == nil && !info.IsDir() {
			return path, nil
		}
	}
	if path, err := exec.LookPath(serverBinary); err == nil {
		return path, nil
	}
	return "", fmt.Errorf("%s was found neither next to %s nor on PATH: build it with `make build`, or use Temporal's CLI "+
		"(--temporal-cli PATH), or a running server (--address HOST:PORT)", serverBinary, options.Executable)
}

type embedded struct {
	path  string
	ready chan ServerReady
}

func (e *embedded) run(options DevServer) (*child, error) {
	args := []string{
		"--port", strconv.Itoa(options.Port), "--ui-port", strconv.Itoa(options.UIPort),
		"--namespace", options.Namespace, "--db-filename", options.DBFile, "--exit-on-stdin-eof",
	}
	if options.ReadyFile != "" {
		args = append(args, "--ready-file", options.ReadyFile)
	}
	ready := make(chan ServerReady, 1)
	e.ready = ready
	//nolint:noctx // it lives as long as its keeper says, not as long as the call that started it
	return runChild(exec.Command(e.path, args...), options.LogFile, func(stdout io.Reader) {
		scanner := bufio.NewScanner(stdout)
		for scanner.Scan() {
			var line ServerReady
			if json.Unmarshal(scanner.Bytes(), &line) == nil && line.Address != "" {
				ready <- line
				return
			}
		}
	})
}

func (e *embedded) await(ctx context.Context, process *child, _ DevServer) (ServerReady, error) {
	select {
	case ready := <-e.ready:
		return ready, nil
	case <-process.done:
		return ServerReady{}, fmt.Errorf("the dev server did not start (%s)", process.describe())
	case <-ctx.Done():
		return ServerReady{}, context.Cause(ctx)
	}
}

// Temporal's server has no ready line and does not end with its standard input, so a shell watches the input.
type temporalCLI struct{ path string }

// The waiting process keeps no output open, so the command's own end is noticed at once.
const untilEOF = `exec 3<&0; "$@" </dev/null & child=$!; { cat <&3; kill "$child"; } >/dev/null 2>&1 & exec 3<&-; wait "$child"`

func (t *temporalCLI) run(options DevServer) (*child, error) {
	args := append([]string{"-c", untilEOF, "sh", t.path}, startDevArgs(options)...)
	return runChild(exec.Command("sh", args...), options.LogFile, nil) //nolint:gosec,noctx // the operator named the binary; lives as long as its keeper says
}

// startDevArgs returns search attributes, and the settings with reasons in docs/devserver.md.
func startDevArgs(options DevServer) []string {
	args := []string{
		"server", "start-dev", "--ip", "127.0.0.1",
		"--port", strconv.Itoa(options.Port), "--ui-port", strconv.Itoa(options.UIPort),
		"--namespace", options.Namespace, "--db-filename", options.DBFile, "--log-level", "warn",
		"--search-attribute", contract.SearchAttributeJobType + "=Keyword",
		"--search-attribute", contract.SearchAttributeOutcome + "=Keyword",
	}
	for _, setting := range []string{ // Values are JSON.
		"history.transferProcessorMaxPollRPS=200",
		"history.timerProcessorMaxPollRPS=200",
		"history.maximumBufferedEventsBatch=2000",
		`history.workflowIdReuseMinimalInterval="0s"`,
		`history.timerProcessorMaxTimeShift="10ms"`,
		"matching.enableFairness=true",
		"matching.numTaskqueueReadPartitions=1",
		"matching.numTaskqueueWritePartitions=1",
		"frontend.namespaceCount=10000",
		"frontend.namespaceRPS.visibility=100",
		"worker.schedulerNamespaceStartWorkflowRPS=1000",
		"frontend.WorkerHeartbeatsEnabled=true",
		"frontend.ListWorkersEnabled=true", // Servers before 1.32 need it.
		"frontend.WorkerCommandsEnabled=true",
		"system.enableCancelActivityWorkerCommand=true",
	} {
		args = append(args, "--dynamic-config-value", setting)
	}
	return args
}

func (t *temporalCLI) await(ctx context.Context, process *child, options DevServer) (ServerReady, error) {
	ready := ServerReady{
		Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(options.Port)),
		UIURL:   "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(options.UIPort)),
	}
	for {
		client, err := starter.Dial(ctx, starter.Options{
			Address: ready.Address, Namespace: options.Namespace, HeartbeatInterval: -1, DialTimeout: time.Second,
		})
		if err == nil {
			client.Close()
			return ready, nil
		}
		select {
		case <-process.done:
			return ServerReady{}, fmt.Errorf("%s server start-dev did not start (%s)", t.path, process.describe())
		case <-ctx.Done():
			return ServerReady{}, context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func freePorts(options DevServer) (DevServer, error) {
	for _, port := range []*int{&options.Port, &options.UIPort} {
		if *port != 0 {
			continue
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return options, fmt.Errorf("find a free port: %w", err)
		}
		*port = portOf(listener.Addr().String())
		if err := listener.Close(); err != nil {
			return options, fmt.Errorf("find a free port: %w", err)
		}
	}
	return options, nil
}

func portOf(address string) int {
	if parsed, err := url.Parse(address); err == nil && parsed.Port() != "" {
		address = parsed.Host
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return 0
	}
	return number
}
