package translate

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/roundsman/roundsman/internal/lib/lists"
	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

// Settings are the values of a job type's two forms, for requests.
type Settings struct{ Admin, Worker map[string]*pb.ConfigValue }

// SettingsOf reads params over the defaults of the forms. Without a descriptor the JSON determines the types.
func SettingsOf(d *pb.JobTypeDescriptor, params json.RawMessage) (Settings, error) {
	written := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(params)) > 0 {
		if err := json.Unmarshal(params, &written); err != nil {
			return Settings{}, fmt.Errorf("params must be a JSON object: %w", err)
		}
	}
	admin, adminErr := valuesOf(AdminKey, d.GetAdminConfigForm(), nil, written[AdminKey])
	worker, workerErr := valuesOf(WorkerKey, d.GetWorkerConfigForm(), d.GetWorkerDefaultValues(), written[WorkerKey])
	return Settings{Admin: admin, Worker: worker}, errors.Join(adminErr, workerErr)
}

func valuesOf(key string, form *pb.ConfigForm, defaults map[string]*pb.ConfigValue, params json.RawMessage) (map[string]*pb.ConfigValue, error) {
	values := maps.Clone(merged(form, defaults))
	if len(bytes.TrimSpace(params)) == 0 {
		return values, nil
	}
	written := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(params))
	decoder.UseNumber()
	if err := decoder.Decode(&written); err != nil {
		return nil, fmt.Errorf("params.%s must be a JSON object: %w", key, err)
	}
	if values == nil {
		values = map[string]*pb.ConfigValue{}
	}
	kinds := map[string]pb.ConfigFieldType{}
	for _, section := range form.GetSections() {
		for _, field := range section.GetFields() {
			kinds[field.GetName()] = field.GetFieldType()
		}
	}
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(written)) {
		kind, known := kinds[name]
		if !known {
			kind = kindOf(values[name])
		}
		value, err := valueOf(kind, written[name])
		if err != nil {
			faults = append(faults, fmt.Errorf("params.%s.%s: %w", key, name, err))
			continue
		}
		values[name] = value
	}
	return values, errors.Join(faults...)
}

func merged(form *pb.ConfigForm, defaults map[string]*pb.ConfigValue) map[string]*pb.ConfigValue {
	values := maps.Clone(form.GetDefaultValues())
	if values == nil {
		return defaults
	}
	maps.Copy(values, defaults)
	return values
}

func kindOf(value *pb.ConfigValue) pb.ConfigFieldType {
	switch value.GetKind().(type) {
	case *pb.ConfigValue_BoolValue:
		return pb.ConfigFieldType_CONFIG_FIELD_TYPE_BOOL
	case *pb.ConfigValue_Int64Value:
		return pb.ConfigFieldType_CONFIG_FIELD_TYPE_INT64
	case *pb.ConfigValue_DoubleValue:
		return pb.ConfigFieldType_CONFIG_FIELD_TYPE_DOUBLE
	case *pb.ConfigValue_StringValue:
		return pb.ConfigFieldType_CONFIG_FIELD_TYPE_STRING
	case *pb.ConfigValue_BytesValue:
		return pb.ConfigFieldType_CONFIG_FIELD_TYPE_BYTES
	case *pb.ConfigValue_DurationValue:
		return pb.ConfigFieldType_CONFIG_FIELD_TYPE_DURATION
	case *pb.ConfigValue_StringList:
		return pb.ConfigFieldType_CONFIG_FIELD_TYPE_LIST
	case *pb.ConfigValue_MapValue:
		return pb.ConfigFieldType_CONFIG_FIELD_TYPE_OBJECT
	}
	return pb.ConfigFieldType_CONFIG_FIELD_TYPE_UNSPECIFIED
}

func valueOf(kind pb.ConfigFieldType, written any) (*pb.ConfigValue, error) {
	switch kind {
	case pb.ConfigFieldType_CONFIG_FIELD_TYPE_BOOL:
		if truth, ok := written.(bool); ok {
			return Bool(truth), nil
		}
	case pb.ConfigFieldType_CONFIG_FIELD_TYPE_INT64:
		if whole, ok := integer(written); ok {
			return Int64(whole), nil
		}
	case pb.ConfigFieldType_CONFIG_FIELD_TYPE_DOUBLE:
		if rational, ok := float(written); ok {
			return Double(rational), nil
		}
	case pb.ConfigFieldType_CONFIG_FIELD_TYPE_DURATION:
		if seconds, ok := float(written); ok && math.Abs(seconds) < math.MaxInt64/float64(time.Second) {
			return &pb.ConfigValue{Kind: &pb.ConfigValue_DurationValue{DurationValue: durationpb.New(time.Duration(math.Round(seconds * float64(time.Second))))}}, nil
		}
	case pb.ConfigFieldType_CONFIG_FIELD_TYPE_STRING, pb.ConfigFieldType_CONFIG_FIELD_TYPE_ENUM:
		if text, ok := written.(string); ok {
			return String(text), nil
		}
	case pb.ConfigFieldType_CONFIG_FIELD_TYPE_BYTES:
		if text, ok := written.(string); ok {
			raw, err := base64.StdEncoding.DecodeString(text)
			return &pb.ConfigValue{Kind: &pb.ConfigValue_BytesValue{BytesValue: raw}}, err
		}
	case pb.ConfigFieldType_CONFIG_FIELD_TYPE_LIST:
		if list, ok := texts(written); ok {
			return &pb.ConfigValue{Kind: &pb.ConfigValue_StringList{StringList: &pb.StringList{Values: list}}}, nil
		}
	case pb.ConfigFieldType_CONFIG_FIELD_TYPE_OBJECT, pb.ConfigFieldType_CONFIG_FIELD_TYPE_UNSPECIFIED:
		return guessed(written)
	}
	return nil, fmt.Errorf("%v is not of the type that the form wants", written)
}

func guessed(written any) (*pb.ConfigValue, error) {
	switch v := written.(type) {
	case bool:
		return Bool(v), nil
	case string:
		return String(v), nil
	case json.Number:
		if whole, err := v.Int64(); err == nil {
			return Int64(whole), nil
		}
		rational, err := v.Float64()
		return Double(rational), err
	case []any:
		if list, ok := texts(v); ok {
			return &pb.ConfigValue{Kind: &pb.ConfigValue_StringList{StringList: &pb.StringList{Values: list}}}, nil
		}
		list := &pb.ValueList{}
		for _, element := range v {
			value, err := guessed(element)
			if err != nil {
				return nil, err
			}
			list.Values = append(list.Values, value)
		}
		return &pb.ConfigValue{Kind: &pb.ConfigValue_ListValue{ListValue: list}}, nil
	case map[string]any:
		fields := make(map[string]*pb.ConfigValue, len(v))
		for name, element := range v {
			value, err := guessed(element)
			if err != nil {
				return nil, err
			}
			fields[name] = value
		}
		return &pb.ConfigValue{Kind: &pb.ConfigValue_MapValue{MapValue: &pb.ValueMap{Fields: fields}}}, nil
	}
	return nil, errors.New("null is no value")
}

// Bool returns a boolean value.
func Bool(v bool) *pb.ConfigValue {
	return &pb.ConfigValue{Kind: &pb.ConfigValue_BoolValue{BoolValue: v}}
}

// Int64 returns an integer value.
func Int64(v int64) *pb.ConfigValue {
	return &pb.ConfigValue{Kind: &pb.ConfigValue_Int64Value{Int64Value: v}}
}

// Double returns a floating-point value.
func Double(v float64) *pb.ConfigValue {
	return &pb.ConfigValue{Kind: &pb.ConfigValue_DoubleValue{DoubleValue: v}}
}

// String returns a string value.
func String(v string) *pb.ConfigValue {
	return &pb.ConfigValue{Kind: &pb.ConfigValue_StringValue{StringValue: v}}
}

func integer(written any) (int64, bool) {
	text, ok := written.(json.Number)
	if !ok {
		return 0, false
	}
	if whole, err := text.Int64(); err == nil {
		return whole, true
	}
	rational, err := text.Float64() // JSON Schema accepts 3.0 as an integer.
	return int64(rational), err == nil && rational == math.Trunc(rational) && math.Abs(rational) < 1<<53
}

func float(written any) (float64, bool) {
	text, ok := written.(json.Number)
	if !ok {
		return 0, false
	}
	rational, err := text.Float64()
	return rational, err == nil
}

func texts(written any) ([]string, bool) {
	list, ok := written.([]any)
	if !ok {
		return nil, false
	}
	all := make([]string, len(list))
	for i, element := range list {
		if all[i], ok = element.(string); !ok {
			return nil, false
		}
	}
	return all, true
}

func plain(value *pb.ConfigValue) any {
	switch v := value.GetKind().(type) {
	case *pb.ConfigValue_BoolValue:
		return v.BoolValue
	case *pb.ConfigValue_Int64Value:
		return v.Int64Value
	case *pb.ConfigValue_DoubleValue:
		return finite(v.DoubleValue)
	case *pb.ConfigValue_StringValue:
		return v.StringValue
	case *pb.ConfigValue_BytesValue:
		return base64.StdEncoding.EncodeToString(v.BytesValue)
	case *pb.ConfigValue_DurationValue:
		return v.DurationValue.AsDuration().Seconds()
	case *pb.ConfigValue_StringList:
		return listOf(v.StringList.GetValues(), func(s string) any { return s })
	case *pb.ConfigValue_Int64List:
		return listOf(v.Int64List.GetValues(), func(i int64) any { return i })
	case *pb.ConfigValue_DoubleList:
		return listOf(v.DoubleList.GetValues(), finite)
	case *pb.ConfigValue_BoolList:
		return listOf(v.BoolList.GetValues(), func(b bool) any { return b })
	case *pb.ConfigValue_ListValue:
		return listOf(v.ListValue.GetValues(), plain)
	case *pb.ConfigValue_MapValue:
		fields := object{}
		for name, field := range v.MapValue.GetFields() {
			fields[name] = plain(field)
		}
		return fields
	}
	return nil
}

// finite converts NaN and infinities, which JSON lacks, to text.
func finite(v float64) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprint(v)
	}
	return v
}

func listOf[T any](values []T, one func(T) any) []any {
	return lists.Map(values, one)
}

func number(value *pb.ConfigValue) (any, bool) {
	switch v := plain(value).(type) {
	case int64, float64:
		return v, true
	}
	return nil, false
}

// sameJSON compares as JSON does: 1 and 1.0 are one number.
func sameJSON(a, b any) bool {
	left, errLeft := json.Marshal(a)
	right, errRight := json.Marshal(b)
	return errLeft == nil && errRight == nil && bytes.Equal(left, right)
}
