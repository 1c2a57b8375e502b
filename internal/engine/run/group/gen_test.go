package group

import (
	"time"

	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/jobtype"
)

func proposalGen() *rapid.Generator[jobtype.Proposal] {
	return rapid.Custom(func(t *rapid.T) jobtype.Proposal {
		p := jobtype.Proposal{
			DedupeKey: rapid.SampledFrom([]string{"", "k1", "k2", "k3", "k4", "k5", "k6", "k7"}).Draw(t, "key"),
			Priority:  rapid.SampledFrom([]jobtype.Priority{"", jobtype.PriorityLow, jobtype.PriorityHigh, jobtype.PriorityCritical}).Draw(t, "priority"),
			Node:      rapid.SampledFrom([]string{"", "", "", "", "w1", "w9"}).Draw(t, "node"),
		}
		if rapid.IntRange(0, 7).Draw(t, "dag") == 0 {
			p.DAG = "version: 1"
		}
		p.EstimatedRuntime = seconds(rapid.SampledFrom([]int{0, 0, 5, 20, 90}).Draw(t, "estimate"))
		switch rapid.IntRange(0, 9).Draw(t, "timing") {
		case 0:
			p.NotBefore = epoch.Add(30 * time.Second)
		case 1:
			p.ExpiresAt = epoch.Add(20 * time.Second)
		case 2:
			p.Labels = map[string]string{"rack": "r1"}
		}
		switch rapid.IntRange(0, 5).Draw(t, "needs") {
		case 0:
			p.Resources = map[string]int{"db": 1}
		case 1:
			p.Exclusive = []string{"volume/1"}
		case 2:
			p.Shared = []string{"volume/1"}
		}
		return p
	})
}
