package override

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/roundsman/roundsman/contract"
)

// paramsPrefix begins the names of a job type's params, such as params.worker.garbage_threshold.
const paramsPrefix = "params."

// paramValue returns a value as JSON: a number, true, false, null, list or object as written, else a text.
func paramValue(name, value string) (json.RawMessage, error) {
	if slices.Contains(strings.Split(name, "."), "") {
		return nil, fmt.Errorf("%q: write it as params.NAME=VALUE", name)
	}
	if json.Valid([]byte(value)) {
		return json.RawMessage(value), nil
	}
	return json.Marshal(value)
}

// HasParams reports whether the change has params of a job type.
func (change Change) HasParams() bool {
	for name := range change {
		if strings.HasPrefix(name, paramsPrefix) {
			return true
		}
	}
	return false
}

// errDAGParams refuses params of a job type with a DAG, which its spec declares.
var errDAGParams = errors.New("params of a job type with a DAG are set in the configuration, or by roundsman start -p")

// overParams moves the params of the change into the spec. A null removes a param.
func (change Change) overParams(spec *contract.JobTypeSpec) error {
	if !change.HasParams() {
		return nil
	}
	if spec.DAG != nil {
		return errDAGParams
	}
	params := map[string]any{}
	if len(spec.Params) > 0 {
		if err := decode(spec.Params, &params); err != nil {
			return fmt.Errorf("params: %w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(change)) {
		path, isParam := strings.CutPrefix(name, paramsPrefix)
		if !isParam {
			continue
		}
		if err := setParam(params, strings.Split(path, "."), change[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		delete(change, name)
	}
	var err error
	spec.Params, err = json.Marshal(params)
	return err
}

func setParam(params map[string]any, path []string, encoded json.RawMessage) error {
	removes := string(encoded) == "null"
	for _, key := range path[:len(path)-1] {
		inner, isObject := params[key].(map[string]any)
		if !isObject && params[key] != nil {
			return fmt.Errorf("%s is a value, not a section", key)
		}
		if !isObject && removes {
			return nil
		}
		if !isObject {
			inner = map[string]any{}
			params[key] = inner
		}
		params = inner
	}
	last := path[len(path)-1]
	if removes {
		delete(params, last)
		return nil
	}
	var value any
	if err := decode(encoded, &value); err != nil {
		return err
	}
	params[last] = value
	return nil
}

// decode keeps all digits of numbers.
func decode(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(into)
}
