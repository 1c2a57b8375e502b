package devserver_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	computepb "go.temporal.io/api/compute/v1"
	deploymentpb "go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
)

// maxPackages bounds the packages of a first build. Without the stubs it compiles 1786 packages.
const maxPackages = 1150

// TestTheBuildLeavesCloudsOut lists the linked packages of the server: no SDK of a cloud, except the stubs.
func TestTheBuildLeavesCloudsOut(t *testing.T) {
	t.Parallel()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f",
		`{{.ImportPath}} {{with .Module}}{{with .Replace}}{{.Path}}{{end}}{{end}}`, "./cmd/roundsman-devserver")
	out, err := list.Output()
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	assert.Greater(t, len(lines), maxPackages/2, "the list is complete")
	assert.LessOrEqual(t, len(lines), maxPackages,
		"`go list -deps ./cmd/roundsman-devserver` shows what is new; see docs/adr/0070-server-without-clouds.md")
	stubs := 0
	for _, line := range lines {
		path, replaced, _ := strings.Cut(line, " ")
		if strings.HasPrefix(replaced, "./stubs/") {
			stubs++
			continue
		}
		for _, cloud := range []string{
			"k8s.io/", "github.com/aws/aws-sdk-go-v2/", "cloud.google.com/go/storage", "google.golang.org/api/",
			"github.com/envoyproxy/", "go.temporal.io/auto-scaled-workers/",
		} {
			assert.False(t, strings.HasPrefix(path, cloud), path)
		}
	}
	assert.Positive(t, stubs)
}

// TestWorkerDeploymentsWithoutTheWorkerController uses the API whose cloud side is a stub. Versions of workers work
// as on a stock server. A compute config is refused with the reason.
func TestWorkerDeploymentsWithoutTheWorkerController(t *testing.T) {
	t.Parallel()
	_, ready := start(t)
	api := dial(t, ready).WorkflowService()
	version := &deploymentpb.WorkerDeploymentVersion{DeploymentName: "tools", BuildId: "1"}
	_, err := api.CreateWorkerDeployment(t.Context(), &workflowservice.CreateWorkerDeploymentRequest{
		Namespace: ready.Namespace, DeploymentName: version.DeploymentName,
	})
	require.NoError(t, err)
	_, err = api.CreateWorkerDeploymentVersion(t.Context(), &workflowservice.CreateWorkerDeploymentVersionRequest{
		Namespace: ready.Namespace, DeploymentVersion: version,
	})
	require.NoError(t, err)
	described, err := api.DescribeWorkerDeploymentVersion(t.Context(), &workflowservice.DescribeWorkerDeploymentVersionRequest{
		Namespace: ready.Namespace, DeploymentVersion: version,
	})
	require.NoError(t, err)
	assert.Nil(t, described.WorkerDeploymentVersionInfo.ComputeConfig)

	_, err = api.UpdateWorkerDeploymentVersionComputeConfig(t.Context(), &workflowservice.UpdateWorkerDeploymentVersionComputeConfigRequest{
		Namespace: ready.Namespace, DeploymentVersion: version,
		ComputeConfigScalingGroups: map[string]*computepb.ComputeConfigScalingGroupUpdate{
			"all": {ScalingGroup: &computepb.ComputeConfigScalingGroup{Provider: &computepb.ComputeProvider{Type: "aws-lambda"}}},
		},
	})
	var invalid *serviceerror.InvalidArgument
	require.ErrorAs(t, err, &invalid)
	assert.ErrorContains(t, err, "built without the worker controller")

	_, err = api.DeleteWorkerDeploymentVersion(t.Context(), &workflowservice.DeleteWorkerDeploymentVersionRequest{
		Namespace: ready.Namespace, DeploymentVersion: version,
	})
	require.NoError(t, err)
}
