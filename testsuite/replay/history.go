package replay

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/workflows"
)

// Versions of the workflows that must have histories, by the workflow's type.
func Versions() map[string]int {
	return map[string]int{
		contract.JobGroupWorkflow:      workflows.JobGroupVersion,
		contract.FleetWorkflow:         workflows.FleetVersion,
		contract.AdmissionWorkflow:     workflows.AdmissionVersion,
		contract.DAGWorkflow:           workflows.DAGVersion,
		contract.AuditWorkflow:         workflows.AuditVersion,
		contract.NotificationsWorkflow: workflows.NotifyVersion,
	}
}

// Name of a recorded history.
type Name struct {
	// Workflow is the workflow's type.
	Workflow string
	Version  int
	Scenario string
}

// folder of a workflow type: its name in lower case, without the prefix.
func folder(workflowType string) string {
	return strings.ToLower(strings.TrimPrefix(workflowType, "roundsman."))
}

// path of the history below dir.
func (n Name) path(dir string) string {
	return filepath.Join(dir, folder(n.Workflow), fmt.Sprintf("v%d-%s.json.gz", n.Version, n.Scenario))
}

// List finds all histories of a workflow below dir.
func List(dir, workflowType string) ([]Name, error) {
	files, err := filepath.Glob(filepath.Join(dir, folder(workflowType), "v*.json.gz"))
	if err != nil {
		return nil, err
	}
	var names []Name
	for _, file := range files {
		base := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "v"), ".json.gz")
		digits, scenario, _ := strings.Cut(base, "-")
		version, err := strconv.Atoi(digits)
		if err != nil {
			return nil, fmt.Errorf("%s: the name must be v<N>-<scenario>.json.gz", file)
		}
		names = append(names, Name{workflowType, version, scenario})
	}
	return names, nil
}

// Load reads one history.
func Load(dir string, name Name) (*historypb.History, error) {
	data, err := os.ReadFile(name.path(dir))
	if err != nil {
		return nil, err
	}
	packed, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(packed)
	if err != nil {
		return nil, err
	}
	var history historypb.History
	return &history, temporalproto.CustomJSONUnmarshalOptions{}.Unmarshal(raw, &history)
}

// Save writes one history. The same history gives the same bytes.
func Save(dir string, name Name, history *historypb.History) error {
	raw, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(history)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	packer, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := packer.Write(raw); err != nil {
		return err
	}
	if err := packer.Close(); err != nil {
		return err
	}
	path := name.path(dir)
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, out.Bytes(), 0o644))
}

// Fetch downloads the history of a run from a server.
func Fetch(ctx context.Context, c client.Client, workflowID, runID string) (*historypb.History, error) {
	var history historypb.History
	events := c.GetWorkflowHistory(ctx, workflowID, runID, false, 0)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return nil, err
		}
		history.Events = append(history.Events, event)
	}
	return &history, nil
}
