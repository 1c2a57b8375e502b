package contract

import (
	"maps"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/jobtype"
)

// JobClass is the part of a proposal in a page that the group needs: its worker and its priority.
type JobClass struct {
	Priority jobtype.Priority  `json:"priority,omitempty"`
	Node     string            `json:"node,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	// Keyed: each of the proposals has a dedupe key.
	Keyed bool `json:"keyed,omitempty"`
}

// Key is equal for equal classes.
func (c JobClass) Key() string {
	var key strings.Builder
	if c.Keyed {
		key.WriteString("\x02")
	}
	key.WriteString(string(c.Priority) + "\x00" + c.Node)
	for _, name := range slices.Sorted(maps.Keys(c.Labels)) {
		key.WriteString("\x00" + name + "\x01" + c.Labels[name])
	}
	return key.String()
}

// ProposalPage describes a page of proposals of a detection.
type ProposalPage struct {
	// Page is the name of the page, which has Count proposals. Package pages encodes it.
	Page  string `json:"page"`
	Count int    `json:"count"`
	// Bytes is the size of the proposals as JSON, Estimate their largest estimated_runtime.
	Bytes    int              `json:"bytes"`
	Estimate jobtype.Duration `json:"estimate,omitempty"`
	// Classes are those of the proposals, and Runs assigns them, in the order of the page.
	Classes []JobClass `json:"classes"`
	Runs    []ClassRun `json:"runs"`
}

// ClassRun is the class of the next Count proposals of a page.
type ClassRun struct {
	Class int `json:"c"`
	Count int `json:"n"`
}

// ProposalTable is a page with the proposals of the jobs First to Last.
type ProposalTable struct {
	Page  string `json:"page"`
	First int    `json:"first"`
	Last  int    `json:"last"`
}

// ProposalRef is the place of a job's proposal.
type ProposalRef struct {
	Page     string `json:"page"`
	Position int    `json:"position"`
}

// Bounds of a page of proposals.
const (
	MaxPagedProposals = 2000
	MaxPagedBytes     = 440 << 10
)

// ReadKeysActivity returns the [DedupeHash] of each proposal of a ReadKeysInput, eight bytes each; zero if lost or
// without a key.
const ReadKeysActivity = "roundsman.ReadKeys"

// MaxChunk bounds the jobs whose keys are read and claimed at once.
const MaxChunk = 1024

// ReadKeysInput names proposals of a run.
type ReadKeysInput struct {
	Run     string        `json:"run"`
	JobType string        `json:"job_type"`
	Refs    []ProposalRun `json:"refs"`
}

// ProposalRun names Count proposals of a page, from Position on.
type ProposalRun struct {
	Page     string `json:"p"`
	Position int    `json:"i"`
	Count    int    `json:"n"`
}
