package jobtype

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Validate returns every fault of d, joined. A worker refuses a handler with a fault at its start. Validate checks
// that schemas are JSON objects; jobtypetest.Check compiles them.
func (d Descriptor) Validate() error {
	var faults []error
	if err := ValidateName(d.Name); err != nil {
		faults = append(faults, fmt.Errorf("name: %w", err))
	}
	schema := func(key string, data json.RawMessage) {
		if len(data) > 0 && !isObject(data) {
			faults = append(faults, fmt.Errorf("%s: a JSON Schema must be a JSON object", key))
		}
	}
	schema("params", d.Params)
	schema("detect_settings", d.DetectSettings)
	schema("execute_settings", d.ExecuteSettings)
	if err := d.DefaultPolicy.WithDefaults().Validate(); err != nil {
		faults = append(faults, fmt.Errorf("default_policy: %w", err))
	}
	if every := d.DefaultInterval.Std(); every < 0 || every > 365*24*time.Hour || every%time.Second != 0 {
		faults = append(faults, fmt.Errorf("default_interval: %s must be whole seconds up to 365d, or 0 for none", d.DefaultInterval))
	}
	if d.MaxDetectConcurrency < 0 || d.MaxExecuteConcurrency < 0 {
		faults = append(faults, errors.New("max_detect_concurrency and max_execute_concurrency must not be negative; 0 means no own limit"))
	}
	if d.Batches && d.DetectOnly {
		faults = append(faults, errors.New("batches is about jobs, and a handler with detect_only does none"))
	}
	if d.ExecuteOnly && d.DetectOnly {
		faults = append(faults, errors.New("execute_only and detect_only exclude each other: such a handler could do nothing"))
	}
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("descriptor of handler %q: %w", d.Name, errors.Join(faults...))
}
