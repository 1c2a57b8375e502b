package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
	"github.com/roundsman/roundsman/starter/jobtypes"
)

// checkNodeWithin bounds the check, since a worker also starts without the server.
const checkNodeWithin = 5 * time.Second

// checkNode logs the settings that this node cannot fulfil; for named job types they are an error.
func checkNode(ctx context.Context, options NodeOptions, handlers []jobtype.Handler) error {
	checkers := map[string]jobtype.NodeChecker{}
	for _, handler := range handlers {
		if checker, ok := handler.(jobtype.NodeChecker); ok {
			checkers[handler.Descriptor().Name] = checker
		}
	}
	ctx, cancel := context.WithTimeout(ctx, checkNodeWithin)
	defer cancel()
	types, err := jobtypes.Of(options.Client).List(ctx)
	if err != nil {
		options.Logger.Warn("the settings of job types were not checked on this node", "error", err)
		return nil
	}
	var faults []error
	for _, known := range types {
		checker := checkers[known.Spec.Handler]
		if checker == nil || !mayServe(options, known.Spec) {
			continue
		}
		if err := checker.CheckNode(ctx, known.Spec.Detect, known.Spec.Execute); err != nil {
			options.Logger.Error("this node cannot run a job type as it is configured", "worker", options.ID, "job_type", known.Name, "error", err)
			if slices.Contains(options.JobTypes, known.Name) {
				faults = append(faults, fmt.Errorf("job type %s: %w", known.Name, err))
			}
		}
	}
	return errors.Join(faults...)
}

func mayServe(options NodeOptions, spec contract.JobTypeSpec) bool {
	for name, value := range spec.Labels {
		if options.Labels[name] != value {
			return false
		}
	}
	return len(options.JobTypes) == 0 || slices.Contains(options.JobTypes, spec.Name)
}
