package jobtypes

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// filled sets every field below value, so that a setting that is added later is filled, too.
func filled(value reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer:
		value.Set(reflect.New(value.Type().Elem()))
		filled(value.Elem())
	case reflect.Struct:
		for _, field := range value.Fields() {
			filled(field)
		}
	case reflect.Slice:
		if value.Type() == reflect.TypeFor[json.RawMessage]() {
			value.SetBytes([]byte(`{"a":{"b":[1]}}`))
			return
		}
		value.Set(reflect.MakeSlice(value.Type(), 1, 1))
		filled(value.Index(0))
	case reflect.Map:
		value.Set(reflect.MakeMap(value.Type()))
		key, element := reflect.New(value.Type().Key()).Elem(), reflect.New(value.Type().Elem()).Elem()
		filled(key)
		filled(element)
		value.SetMapIndex(key, element)
	case reflect.String:
		value.SetString("some")
	case reflect.Bool:
		value.SetBool(true)
	case reflect.Float64:
		value.SetFloat(1)
	default:
		value.SetInt(int64(time.Hour))
	}
}

// everyChange calls visit with each single change of a value, and with the path of the change.
func everyChange(value reflect.Value, path string, visit func(path string)) {
	try := func(changed reflect.Value) {
		before := reflect.ValueOf(value.Interface())
		value.Set(changed.Convert(value.Type()))
		visit(path)
		value.Set(before)
	}
	switch value.Kind() {
	case reflect.Pointer:
		everyChange(value.Elem(), path, visit)
		try(reflect.Zero(value.Type()))
	case reflect.Struct:
		for i := range value.NumField() {
			everyChange(value.Field(i), path+"."+value.Type().Field(i).Name, visit)
		}
	case reflect.Slice:
		if value.Type() == reflect.TypeFor[json.RawMessage]() {
			try(reflect.ValueOf(json.RawMessage(`{"a":{"b":[2]}}`)))
		} else {
			everyChange(value.Index(0), path+"[0]", visit)
		}
		try(reflect.Zero(value.Type()))
	case reflect.Map:
		key := value.MapKeys()[0]
		element := reflect.New(value.Type().Elem()).Elem()
		element.Set(value.MapIndex(key))
		everyChange(element, path+"[some]", func(at string) {
			value.SetMapIndex(key, element)
			visit(at)
		})
		value.SetMapIndex(key, element)
		try(reflect.Zero(value.Type()))
	case reflect.String:
		try(reflect.ValueOf("other"))
	case reflect.Bool:
		try(reflect.ValueOf(false))
	case reflect.Float64:
		try(reflect.ValueOf(2.0))
	default:
		try(reflect.ValueOf(value.Int() + int64(time.Hour)))
	}
}

// TestEverySettingIsCompared: a change that no difference shows would never be written by Edit, and apply would not name it.
func TestEverySettingIsCompared(t *testing.T) {
	t.Parallel()
	full := func() contract.JobTypeSpec {
		var spec contract.JobTypeSpec
		filled(reflect.ValueOf(&spec).Elem())
		spec.Schedule = contract.ScheduleSpec{
			Cron: []string{"0 2 * * *"}, Days: []string{"mon"}, Except: []string{"2027-01-01"}, Timezone: "Europe/Berlin",
			Jitter: jobtype.Duration(time.Minute), FirstRun: contract.FirstRunNow,
		}
		spec.FromHandler = []string{"policy.retry_limit"}
		return spec
	}
	spec, seen := full(), 0
	require.Empty(t, specChanges(full(), spec))
	everyChange(reflect.ValueOf(&spec).Elem(), "spec", func(path string) {
		seen++
		switch path {
		case "spec.Hash", "spec.DAG.Name", "spec.Schedule.Offset": // A hash is no setting, the text has the name, and cron has no offset.
		default:
			assert.NotEmpty(t, specChanges(full(), spec), path)
		}
	})
	require.Empty(t, specChanges(full(), spec), "each change was undone")
	assert.Greater(t, seen, 60)
}
