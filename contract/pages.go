package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// A page is a part of a run that is too large for the run's history. Its bytes are the start input of a workflow that
// never runs, so its history is one event. Its name is a digest of its bytes.
const (
	// PageWorkflow is the type of that workflow.
	PageWorkflow = "roundsman.Page"
	// PageQueue is its task queue, without a worker.
	PageQueue = "roundsman-pages"
	// MaxPage bounds a page, in bytes: the server warns of payloads over 512 KiB.
	MaxPage = 480 << 10
)

// The activities of pages.
const (
	// PutPageActivity takes a PageInput and the bytes, and returns the name of the page.
	PutPageActivity = "roundsman.PutPage"
	// ReadPageActivity takes a PageInput and returns the bytes. It is repeated until it can read them.
	ReadPageActivity = "roundsman.ReadPage"
	// ClosePagesActivity takes a ClosePagesInput. A closed page is readable until the namespace's retention.
	ClosePagesActivity = "roundsman.ClosePages"
)

// PageInput names a page of a run; the page is empty where it is written.
type PageInput struct {
	Run  string `json:"run"`
	Page string `json:"page,omitempty"`
	// State marks a page with a part of a state.
	State bool `json:"state,omitempty"`
}

// StatePages are the pages of a state that is too large for its argument.
type StatePages struct {
	// Pages has the whole state, in parts; empty if it is in its argument.
	Pages []string `json:"pages,omitempty"`
	// Former had the state from which the workflow run before began. They stay open as long as it does, for a reset of it.
	Former []string `json:"former_pages,omitempty"`
}

// ClosePagesInput names pages of a run that nothing will read again.
type ClosePagesInput struct {
	Run   string   `json:"run"`
	Pages []string `json:"pages"`
}

// PageName is the name of the page with these bytes.
func PageName(data []byte) string {
	digest := sha256.Sum256(data)
	return hex.EncodeToString(digest[:8])
}

const pagePrefix = "page/"

// PageWorkflowID is the workflow ID of a page of a run.
func PageWorkflowID(run, page string) string { return pagePrefix + run + "/" + page }

// RunOfPage is the workflow ID of the run that a page belongs to.
func RunOfPage(workflowID string) (run string, ok bool) {
	rest, ok := strings.CutPrefix(workflowID, pagePrefix)
	end := strings.LastIndexByte(rest, '/')
	if !ok || end <= 0 {
		return "", false
	}
	return rest[:end], true
}

// RecordPage is a page with jobs that have ended, in the order of their ends.
type RecordPage struct {
	Page string `json:"page"`
	// First and Last are the lowest and the highest number of the jobs.
	First int `json:"first"`
	Last  int `json:"last"`
	// States counts the jobs by state.
	States map[string]int `json:"states"`
}

// ItemRecord lists the jobs of a group that has ended: in pages, and the last few in Rest.
type ItemRecord struct {
	Pages []RecordPage `json:"pages,omitempty"`
	Rest  []byte       `json:"rest,omitempty"`
	// Proposals is the table of the pages with proposals.
	Proposals []ProposalTable `json:"proposals,omitempty"`
}
