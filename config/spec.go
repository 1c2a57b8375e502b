package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// specFormat is part of every hash. Raise it if the meaning of a stored spec or its Schedule changes.
const specFormat = 1

// Specs returns the data that `apply` stores, by name. Equal configurations have equal bytes and hashes.
func (c *Config) Specs() ([]contract.JobTypeSpec, error) {
	specs := make([]contract.JobTypeSpec, 0, len(c.JobTypes))
	for _, name := range sortedKeys(c.JobTypes) {
		spec, err := c.spec(name)
		if err != nil {
			return nil, err
		}
		specs = append(specs, spec)
	}
	return specs, nil
}

// Enabled returns the enabled job types. The Schedules of the others are paused.
func (c *Config) Enabled() map[string]bool {
	enabled := make(map[string]bool, len(c.JobTypes))
	for name, declared := range c.JobTypes {
		enabled[name] = declared.Enabled
	}
	return enabled
}

// written returns nil for a calendar that is always open, so it is not stored.
func written(calendar jobtype.Calendar) *jobtype.Calendar {
	if calendar.Empty() {
		return nil
	}
	return &calendar
}

func (c *Config) spec(name string) (contract.JobTypeSpec, error) {
	declared := c.JobTypes[name]
	spec := contract.JobTypeSpec{
		Name:       name,
		Owner:      c.Owner,
		Handler:    declared.Handler,
		DAG:        declared.source,
		DetectOn:   declared.DetectOn,
		EachWorker: declared.EachWorker,

		ApprovalsKeepLane: declared.ApprovalsKeepLane,
		Labels:            declared.Labels,
		Description:       declared.Description,
		Lane:              declared.Lane,
		LaneShared:        declared.Lane != "" && !c.Lanes[declared.Lane].Exclusive,
		Interval:          declared.Interval,
		Resources:         c.Resources,
		JobResources:      declared.Resources,
		Policy:            declared.Policy,
		After:             declared.After,
		AwaitedBy:         c.awaitedBy(name),
		RetryBudget:       declared.RetryBudget,

		RunIfNotSucceededFor: declared.RunIfNotSucceededFor,
		Notify:               declared.Notify,
		Batch:                declared.Batch,
		Calendar:             written(declared.Calendar),
		LaneCalendar:         written(c.Lanes[declared.Lane].Calendar),
		Params:               declared.Params,
		Detect:               declared.Detect,
		Execute:              declared.Execute,
		Cluster:              c.Cluster,
		Schedule:             declared.Schedule,
		FromHandler:          declared.fromHandler,
	}
	encoded, err := canonicalJSON(spec)
	if err != nil {
		return contract.JobTypeSpec{}, fmt.Errorf("job type %s: %w", name, err)
	}
	sum := sha256.Sum256(append([]byte(fmt.Sprintf("roundsman/spec/%d\n", specFormat)), encoded...))
	spec.Hash = fmt.Sprintf("v%d-%s", specFormat, hex.EncodeToString(sum[:16]))
	return spec, nil
}
