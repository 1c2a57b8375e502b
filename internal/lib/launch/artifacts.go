package launch

import (
	"fmt"

	"github.com/roundsman/roundsman/internal/lib/artifact"
)

const (
	maxPatterns     = 20
	maxPatternBytes = 1 << 10
)

func artifactFaults(patterns []string) []error {
	var faults []error
	if len(patterns) > maxPatterns {
		faults = append(faults, fmt.Errorf("artifacts: %d patterns: use at most %d", len(patterns), maxPatterns))
	}
	for k, pattern := range patterns {
		if err := artifact.Fault(pattern); err != nil {
			faults = append(faults, fmt.Errorf("artifacts[%d]: %w", k, err))
		} else if len(pattern) > maxPatternBytes {
			faults = append(faults, fmt.Errorf("artifacts[%d]: %d bytes: use at most %d", k, len(pattern), maxPatternBytes))
		}
	}
	return faults
}
