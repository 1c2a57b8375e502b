package config_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
)

func typeWith(lines string) string {
	return "version: 1\njob_types:\n  check:\n    schedule: {every: 1h}\n    handler: plain\n" + lines
}

func TestEveryWorker(t *testing.T) {
	t.Parallel()
	loaded, err := load(typeWith("    detect_on: every\n    labels: {rack: 7}\n"))
	require.NoError(t, err)
	specs, err := loaded.Specs()
	require.NoError(t, err)
	assert.Equal(t, contract.DetectOnEvery, specs[0].DetectOn)
	assert.Equal(t, map[string]string{"rack": "7"}, specs[0].Labels)
	same, err := load(typeWith("    detect_on: one\n"))
	require.NoError(t, err)
	assert.Empty(t, same.JobTypes["check"].DetectOn)
	each, err := load(typeWith("    each_worker: true\n"))
	require.NoError(t, err)
	assert.True(t, each.JobTypes["check"].EachWorker)
}

func TestResourcesOfAJobType(t *testing.T) {
	t.Parallel()
	const pools = "resources: {disks: 4, tapes: 1}\n"
	loaded, err := load(pools + typeWith("    resources: {disks: 2}\n"))
	require.NoError(t, err)
	specs, err := loaded.Specs()
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"disks": 2}, specs[0].JobResources)
	for lines, want := range map[string]string{
		"    resources: {disk: 2}\n":  `r.yaml:7:17: job_types.check.resources.disk: there is no such pool: did you mean "disks"?: write its size under the top level resources`,
		"    resources: {disks: 5}\n": "r.yaml:7:24: job_types.check.resources.disks: 5 is out of range: use 1 to 4",
		"    resources: {tapes: 0}\n": "r.yaml:7:24: job_types.check.resources.tapes: 0 is out of range: use 1 to 1",
		"    resources: [disks]\n":    "r.yaml:7:16: job_types.check.resources: ",
	} {
		_, err := load(pools + typeWith(lines))
		assert.ErrorContains(t, err, want)
	}
}

func TestFaultsOfEveryWorker(t *testing.T) {
	t.Parallel()
	for lines, want := range map[string]string{
		"    detect_on: evry\n":                                 `r.yaml:6:16: job_types.check.detect_on: "evry" is not known: did you mean "every"?: use one or every`,
		"    labels: {rack: a}\n":                               "r.yaml:6:5: job_types.check.labels: has no meaning without detect_on: every or each_worker: true",
		"    each_worker: true\n    detect_on: every\n":         "r.yaml:7:5: job_types.check.detect_on: has no meaning with each_worker",
		"    each_worker: true\n    detect: {}\n":               "r.yaml:7:5: job_types.check.detect: has no meaning with each_worker",
		"    detect_on: every\n    labels: [a]\n":               "r.yaml:7:13: job_types.check.labels: must be an object of labels, like {role: storage}",
		"    detect_on: every\n    policy: {routing: shared}\n": "r.yaml:7:23: job_types.check.policy.routing: shared cannot pin jobs to the workers that they are for: use worker",
	} {
		_, err := load(typeWith(lines))
		assert.ErrorContains(t, err, want)
	}
}
