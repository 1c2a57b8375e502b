package jobtypes

import (
	"context"
	"fmt"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
)

// servedTimeout bounds how long a list of job types waits for the registry: it is
// worth showing without.
const servedTimeout = 2 * time.Second

// AddServed adds to job types that no worker can serve them now. Without a control
// plane nothing is added, and the error says so; nothing is added either while a
// new registry may lack living workers.
func (c Client) AddServed(ctx context.Context, types []JobType) error {
	if len(types) == 0 {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, servedTimeout)
	defer cancel()
	registry, err := c.client.Workers().Registry(limited, contract.WorkersQueryInput{})
	if err != nil {
		return fmt.Errorf("job types without a worker are not known: %w", err)
	}
	if registry.Incomplete {
		return nil
	}
	for i, known := range types {
		types[i].NoWorker = known.Spec.Handler != "" && !explain.Wanted{JobType: known.Name, Handler: known.Spec.Handler}.Served(registry.Workers)
	}
	return nil
}
