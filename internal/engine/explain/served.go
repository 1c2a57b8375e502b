package explain

import "github.com/roundsman/roundsman/contract"

// Served reports whether a worker that gets work now can serve the job type.
func Served(jobType, handler string, workers []contract.WorkerDetail) bool {
	wanted := &TypeFacts{Name: jobType, Handler: handler}
	for _, worker := range workers {
		if serves(worker, wanted) && len(Facts{}.troubleOf(worker)) == 0 {
			return true
		}
	}
	return false
}
