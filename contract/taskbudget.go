package contract

import (
	"fmt"
	"strings"
	"time"

	"github.com/roundsman/roundsman/jobtype"
)

// TaskBudget is the retry budget of one task of a DAG, over all runs of the DAG.
type TaskBudget struct {
	// JobType is [TasksOf] the DAG, DedupeKey the id of the task.
	JobType   string          `json:"job_type"`
	DedupeKey string          `json:"key"`
	Rule      RetryBudgetRule `json:"rule"`
}

// TaskEnding is the end of one attempt of a task with a retry budget. It may be reported again.
type TaskEnding struct {
	TaskBudget

	// Failed means that the attempt counts against the budget; otherwise the task completed.
	Failed bool `json:"failed,omitempty"`
	// Attempt is the task's id and the number of the attempt.
	Attempt string    `json:"attempt"`
	At      time.Time `json:"at"`
	Error   string    `json:"error,omitempty"`
}

// tasksPrefix precedes a DAG where holds name a job type, which has no colon.
const tasksPrefix = "dag:"

// TasksOf returns dag:NAME, which replaces the job type in holds on tasks of a DAG.
func TasksOf(dag string) string { return tasksPrefix + dag }

// DAGOfTasks is the inverse of [TasksOf].
func DAGOfTasks(jobType string) (dag string, ok bool) { return strings.CutPrefix(jobType, tasksPrefix) }

// ValidateHeldName checks the name of a job type, or dag:NAME.
func ValidateHeldName(name string) error {
	dag, _ := DAGOfTasks(name)
	return jobtype.ValidateName(dag)
}

// HeldName names a job type, a key of it, or a task of a DAG, for operators.
func HeldName(jobType, key string) string {
	dag, tasks := DAGOfTasks(jobType)
	switch {
	case tasks:
		return fmt.Sprintf("task %s of DAG %s", key, dag)
	case key != "":
		return fmt.Sprintf("key %q of job type %s", key, jobType)
	}
	return "job type " + jobType
}

// Of names the key, job type or task that is held back, for operators.
func (h AdmissionHold) Of() string { return HeldName(h.JobType, h.DedupeKey) }
