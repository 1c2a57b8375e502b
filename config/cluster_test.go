package config_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/config"
	"github.com/roundsman/roundsman/jobtype"
)

// clusterUser refuses every cluster block.
type clusterUser struct{}

func (clusterUser) ValidateSettings(_, _, _ json.RawMessage) error { return nil }
func (clusterUser) ValidateCluster(json.RawMessage) error {
	return errors.Join(errors.New("cluster.masters: name the masters"), errors.New("cluster: no such key"))
}

func (clusterUser) ProbeCluster(context.Context, json.RawMessage) []jobtype.ClusterProbe { return nil }

func TestClusterBlockIsCheckedByThoseThatReadIt(t *testing.T) {
	t.Parallel()
	file := config.Source{Name: "weed.yaml", Data: []byte("version: 1\ncluster:\n  masters: []\njob_types:\n  a: {handler: weed, schedule: {every: 1h}}\n  b: {handler: weed, schedule: {every: 1h}}\n")}
	options := config.Options{
		Sources: []config.Source{file}, Handlers: []jobtype.Descriptor{{Name: "weed"}},
		Validators: map[string]jobtype.SettingsValidator{"weed": clusterUser{}},
	}
	_, err := config.Load(options)
	var faults config.Faults
	require.ErrorAs(t, err, &faults)
	require.Len(t, faults, 2, "%v", err)
	require.ErrorContains(t, err, "cluster.masters: name the masters")
	require.ErrorContains(t, err, "weed.yaml:")
}
