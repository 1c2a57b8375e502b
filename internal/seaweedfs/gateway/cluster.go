package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/roundsman/roundsman/internal/seaweedfs/gateway/translate"
	"github.com/roundsman/roundsman/internal/seaweedfs/weed"
	"github.com/roundsman/roundsman/jobtype"
)

// clusterUser validates the `cluster:` block for one job type; only a worker has the form for its settings.
type clusterUser struct{ handler, jobType string }

var (
	_ jobtype.SettingsValidator = clusterUser{}
	_ jobtype.ClusterUser       = clusterUser{}
)

// Validators returns the validators of the handlers of SeaweedFS's own workers, by name.
func Validators() map[string]jobtype.SettingsValidator {
	all := map[string]jobtype.SettingsValidator{}
	for _, jobType := range translate.JobTypes() {
		if name, err := translate.HandlerName(jobType); err == nil {
			all[name] = clusterUser{name, jobType}
		}
	}
	return all
}

// ValidateSettings implements [jobtype.SettingsValidator].
func (clusterUser) ValidateSettings(_, _, _ json.RawMessage) error { return nil }

// ValidateCluster requires an address: without one a worker would find nothing and report no error.
func (u clusterUser) ValidateCluster(block json.RawMessage) error {
	cluster, err := translate.ClusterOf(block)
	if err != nil {
		return err
	}
	has := map[string]int{"masters": len(cluster.Masters), "filers": len(cluster.Filers), "s3": len(cluster.S3)}
	var faults []error
	for _, list := range translate.Needs(u.jobType) {
		if has[list] == 0 {
			faults = append(faults, fmt.Errorf("cluster.%s: %s finds nothing without it: write [\"HOST:PORT\"]", list, u.handler))
		}
	}
	return errors.Join(faults...)
}

// ProbeCluster implements [jobtype.ClusterUser].
func (u clusterUser) ProbeCluster(ctx context.Context, block json.RawMessage) []jobtype.ClusterProbe {
	var spec weed.Spec
	err := u.ValidateCluster(block)
	if err == nil && len(block) > 0 {
		err = json.Unmarshal(block, &spec)
	}
	return weed.ProbeAll(ctx, spec, err)
}
