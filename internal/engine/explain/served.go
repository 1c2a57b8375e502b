package explain

import "github.com/roundsman/roundsman/contract"

// Wanted is what a job type wants of a worker.
type Wanted struct {
	JobType, Handler string
	Labels           map[string]string
}

// CapableOf reports whether a worker can serve the job type while it is well.
func (w Wanted) CapableOf(worker contract.WorkerDetail) bool {
	for name, value := range w.Labels {
		if got, has := worker.Registration.Labels[name]; !has || got != value {
			return false
		}
	}
	return serves(worker, &TypeFacts{Name: w.JobType, Handler: w.Handler})
}

// Served reports whether a worker that gets work now can serve the job type.
func (w Wanted) Served(workers []contract.WorkerDetail) bool {
	for _, worker := range workers {
		if w.CapableOf(worker) && len(Facts{}.troubleOf(worker)) == 0 {
			return true
		}
	}
	return false
}
