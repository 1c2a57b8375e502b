// Package retry divides the proposals of an ended run of a job type: into those to execute again,
// and the others with a reason each. [Select] applies a choice to the jobs that were not done.
// [Decide] keeps proposals back that are done, active, held back, or too many for one run.
// It is pure; starter/rerun reads the facts and submits the decision.
package retry
