package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/roundsman/roundsman/jobtype"
)

// ParamsCheck validates params of jobs against their handler's schema.
type ParamsCheck struct{ block block }

// NewParamsCheck compiles the schema once. A handler without a schema accepts any object.
func NewParamsCheck(handler jobtype.Descriptor) (ParamsCheck, error) {
	read := newBlock("params", handler.Params, false)
	if read.invalid != nil {
		return ParamsCheck{}, fmt.Errorf("the params schema of handler %s is broken: %w", handler.Name, read.invalid)
	}
	return ParamsCheck{read}, nil
}

// Check returns all faults of a job's params, which are overlaid by the proposal's.
func (c ParamsCheck) Check(params json.RawMessage) error {
	if c.block.schema == nil {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(params))
	if err != nil {
		return fmt.Errorf("params: %w", err)
	}
	failed, ok := c.block.schema.Validate(value).(*jsonschema.ValidationError) //nolint:errorlint // the library returns it unwrapped
	if !ok {
		return nil
	}
	var faults []error
	for _, leaf := range leaves(failed) {
		path := strings.Join(append([]string{"params"}, leaf.InstanceLocation...), ".")
		faults = append(faults, fmt.Errorf("%s: %s", path, plainly(leaf.ErrorKind)))
	}
	return errors.Join(faults...)
}

// CheckProposals returns a fault for every proposal that the handler cannot execute or refuses.
func CheckProposals(handler jobtype.Descriptor, params json.RawMessage, proposals []jobtype.Proposal) ([]error, error) {
	check, err := NewParamsCheck(handler)
	if err != nil {
		return nil, err
	}
	var faults []error
	for i, p := range proposals {
		merged, err := jobtype.OverlayParams(params, p.Params)
		if err == nil {
			err = check.Check(merged)
		}
		if handler.DetectOnly && p.DAG == "" {
			err = fmt.Errorf("handler %s only detects, it executes nothing", handler.Name)
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("proposal %d: %w", i+1, err))
		}
	}
	return faults, nil
}
