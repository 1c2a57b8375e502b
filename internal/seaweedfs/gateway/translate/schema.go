package translate

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"

	pb "github.com/roundsman/roundsman/internal/seaweedfs/pluginpb"
)

const draft = "https://json-schema.org/draft/2020-12/schema"

// The keys of a job type's params: the values of a descriptor's two forms.
const (
	AdminKey  = "admin"
	WorkerKey = "worker"
)

// object is a JSON object under construction. Its keys are sorted when it is encoded.
type object = map[string]any

// Schema returns the JSON Schema of the params: one object per form. nil accepts everything.
func Schema(d *pb.JobTypeDescriptor) (json.RawMessage, error) {
	if d == nil {
		return nil, nil
	}
	properties, required := object{}, []string{}
	add := func(key string, form *pb.ConfigForm, defaults map[string]*pb.ConfigValue) {
		if form == nil && len(defaults) == 0 {
			return
		}
		schema, needed := formSchema(form, merged(form, defaults))
		properties[key] = schema
		if needed {
			required = append(required, key)
		}
	}
	add(AdminKey, d.GetAdminConfigForm(), nil)
	add(WorkerKey, d.GetWorkerConfigForm(), d.GetWorkerDefaultValues())
	schema := object{
		"$schema": draft, "type": "object", "properties": properties, "additionalProperties": false,
		extension: hintsOf(d),
	}
	setText(schema, "title", d.GetDisplayName())
	setText(schema, "description", d.GetDescription())
	if len(required) > 0 {
		schema["required"] = required
	}
	return json.Marshal(schema)
}

// formSchema also reports whether a field is required.
func formSchema(form *pb.ConfigForm, defaults map[string]*pb.ConfigValue) (schema object, needed bool) {
	properties, required, conditions := object{}, []string{}, []any{}
	for _, section := range form.GetSections() {
		for _, field := range section.GetFields() {
			name := field.GetName()
			value, hasDefault := defaults[name]
			if _, known := properties[name]; name == "" || known {
				continue
			}
			properties[name] = fieldSchema(field, value, section.GetTitle())
			must := field.GetRequired() && !hasDefault && !field.GetReadOnly()
			switch other := field.GetVisibleWhenField(); {
			case other != "" && field.GetVisibleWhenEquals() != nil:
				shown := defaults[other] != nil && sameJSON(plain(defaults[other]), plain(field.GetVisibleWhenEquals()))
				conditions = append(conditions, condition(field, shown, must))
				needed = needed || must && shown
			case must:
				required = append(required, name)
			}
		}
	}
	for name, value := range defaults {
		if _, known := properties[name]; !known {
			// A setting that the form hides has the type of its default.
			properties[name] = hiddenSchema(value)
		}
	}
	schema = object{"type": "object", "properties": properties, "additionalProperties": false}
	setText(schema, "title", form.GetTitle())
	setText(schema, "description", form.GetDescription())
	if len(required) > 0 {
		schema["required"] = required
	}
	if len(conditions) > 0 {
		schema["allOf"] = conditions
	}
	return schema, needed || len(required) > 0
}

// condition forbids an invisible field, and requires a visible one if must is set. A field that is shown by default is
// visible without the other field.
func condition(field *pb.ConfigField, shown, must bool) object {
	other, wanted := field.GetVisibleWhenField(), plain(field.GetVisibleWhenEquals())
	visible := object{"properties": object{other: object{"const": wanted}}}
	if !shown {
		visible["required"] = []string{other}
	}
	rule := object{"if": visible, "else": object{"properties": object{field.GetName(): false}}}
	if must {
		rule["then"] = object{"required": []string{field.GetName()}}
	}
	return rule
}

func fieldSchema(field *pb.ConfigField, value *pb.ConfigValue, section string) any {
	schema := object{}
	setText(schema, "title", field.GetLabel())
	setText(schema, "description", firstText(field.GetHelpText(), field.GetDescription()))
	if section != "" {
		schema["x-section"] = section
	}
	typed(schema, field)
	if value != nil {
		schema["default"] = plain(value)
	}
	if field.GetSensitive() {
		schema["writeOnly"] = true
	}
	if field.GetReadOnly() {
		if value == nil {
			return false
		}
		schema["readOnly"], schema["const"] = true, plain(value)
		return schema
	}
	limits(schema, field)
	options(schema, field, value)
	for _, rule := range field.GetValidationRules() {
		applyRule(schema, rule)
	}
	return schema
}

// A duration is a number of seconds, bytes are base64.
func typed(schema object, field *pb.ConfigField) {
	switch field.GetFieldType() {
	case pb.ConfigFieldType_CONFIG_FIELD_TYPE_BOOL:
		schema["type"] = "boolean"
	case pb.ConfigFieldType_CONFIG_FIELD_TYPE_INT64:
		schema["type"] = "integer"
	case pb.ConfigFieldType_CONFIG_FIELD_TYPE_DOUBLE:
		schema["type"] = "number"
	case pb.ConfigFieldType_CONFIG_FIELD_TYPE_DURATION:
		schema["type"], schema["x-unit"] = "number", "s"
	case pb.ConfigFieldType_CONFIG_FIELD_TYPE_STRING, pb.ConfigFieldType_CONFIG_FIELD_TYPE_ENUM:
		schema["type"] = "string"
		if field.GetRequired() {
			schema["minLength"] = 1
		}
	case pb.ConfigFieldType_CONFIG_FIELD_TYPE_BYTES:
		schema["type"], schema["contentEncoding"] = "string", "base64"
	case pb.ConfigFieldType_CONFIG_FIELD_TYPE_LIST:
		schema["type"], schema["items"] = "array", object{"type": "string"}
	case pb.ConfigFieldType_CONFIG_FIELD_TYPE_OBJECT:
		schema["type"] = "object"
	case pb.ConfigFieldType_CONFIG_FIELD_TYPE_UNSPECIFIED:
	}
}

func limits(schema object, field *pb.ConfigField) {
	if low, ok := number(field.GetMinValue()); ok {
		schema["minimum"] = low
	}
	if high, ok := number(field.GetMaxValue()); ok {
		schema["maximum"] = high
	}
}

// selectWidget is a field with a list of values to choose from.
const selectWidget = 5

func options(schema object, field *pb.ConfigField, value *pb.ConfigValue) {
	var allowed []any
	for _, option := range field.GetOptions() {
		if !option.GetDisabled() {
			allowed = append(allowed, option.GetValue())
		}
	}
	if len(allowed) == 0 {
		return
	}
	switch kind := field.GetFieldType(); {
	case kind == pb.ConfigFieldType_CONFIG_FIELD_TYPE_LIST:
		schema["items"] = object{"type": "string", "enum": allowed}
	case kind == pb.ConfigFieldType_CONFIG_FIELD_TYPE_ENUM, kind == pb.ConfigFieldType_CONFIG_FIELD_TYPE_STRING && field.GetWidget() == selectWidget:
		if text, ok := plain(value).(string); ok && !slices.Contains(allowed, any(text)) {
			allowed = append(allowed, text) // Its own default is allowed.
		}
		schema["enum"] = allowed
		delete(schema, "minLength")
	}
}

// The worker itself enforces rules that JSON Schema cannot express.
func applyRule(schema object, rule *pb.ValidationRule) {
	count := func(key string) {
		if n, err := strconv.Atoi(rule.GetExpression()); err == nil && n >= 0 {
			schema[key] = n
		}
	}
	switch rule.GetType() {
	case pb.ValidationRuleType_VALIDATION_RULE_TYPE_REGEX:
		if _, err := regexp.Compile(rule.GetExpression()); err == nil {
			schema["pattern"] = rule.GetExpression()
		}
	case pb.ValidationRuleType_VALIDATION_RULE_TYPE_MIN_LENGTH:
		count("minLength")
	case pb.ValidationRuleType_VALIDATION_RULE_TYPE_MAX_LENGTH:
		count("maxLength")
	case pb.ValidationRuleType_VALIDATION_RULE_TYPE_MIN_ITEMS:
		count("minItems")
	case pb.ValidationRuleType_VALIDATION_RULE_TYPE_MAX_ITEMS:
		count("maxItems")
	case pb.ValidationRuleType_VALIDATION_RULE_TYPE_CUSTOM, pb.ValidationRuleType_VALIDATION_RULE_TYPE_UNSPECIFIED:
	}
}

func hiddenSchema(value *pb.ConfigValue) object {
	schema := object{"default": plain(value), "x-hidden": true}
	switch value.GetKind().(type) {
	case *pb.ConfigValue_BoolValue:
		schema["type"] = "boolean"
	case *pb.ConfigValue_Int64Value:
		schema["type"] = "integer"
	case *pb.ConfigValue_DoubleValue, *pb.ConfigValue_DurationValue:
		schema["type"] = "number"
	case *pb.ConfigValue_StringValue, *pb.ConfigValue_BytesValue:
		schema["type"] = "string"
	}
	return schema
}

func setText(schema object, key, text string) {
	if text != "" {
		schema[key] = text
	}
}

func firstText(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}
