package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	schemakind "github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/roundsman/roundsman/internal/lib/suggest"
	"github.com/roundsman/roundsman/internal/lib/yamlread"
	"github.com/roundsman/roundsman/jobtype"
)

type handler struct {
	descriptor jobtype.Descriptor
	validator  jobtype.SettingsValidator
	// blocks compiles the schemas when it is first called: most commands need no handler, and a configuration a few.
	blocks func() []block
}

type block struct {
	key     string
	schema  *jsonschema.Schema
	invalid error
	refused bool
}

func newHandler(descriptor jobtype.Descriptor, validator jobtype.SettingsValidator) handler {
	return handler{
		descriptor: descriptor, validator: validator,
		blocks: sync.OnceValue(func() []block {
			return []block{
				newBlock("params", descriptor.Params, false),
				newBlock("detect", descriptor.DetectSettings, true),
				newBlock("execute", descriptor.ExecuteSettings, true),
			}
		}),
	}
}

func newBlock(key string, schema json.RawMessage, refusedWithout bool) block {
	if len(bytes.TrimSpace(schema)) == 0 {
		return block{key: key, refused: refusedWithout}
	}
	compiled, err := compile(schema)
	return block{key: key, schema: compiled, invalid: err}
}

// compile compiles a schema without access to disk and network.
func compile(schema json.RawMessage) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	const url = "handler.json"
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	compiler.UseLoader(jsonschema.SchemeURLLoader{})
	if err := compiler.AddResource(url, document); err != nil {
		return nil, fmt.Errorf("add schema: %w", err)
	}
	compiled, err := compiler.Compile(url)
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	return compiled, nil
}

// The validator gets the valid part of each block, so it reports further faults at the same time.
func (l *loader) settings(e entry, read JobType) {
	if e.handler == nil {
		return
	}
	before := len(l.faults)
	blocks := []json.RawMessage{read.Params, read.Detect, read.Execute}
	for k, b := range e.handler.blocks() {
		if b.key == "detect" && read.EachWorker {
			continue // It has no detection.
		}
		count := len(l.faults)
		if l.block(e, b); len(l.faults) > count {
			blocks[k] = b.accepted(e.node.Get(b.key))
		}
	}
	if e.handler.validator == nil {
		return
	}
	known := slices.Clone(l.faults[before:])
	for _, err := range joined(e.handler.validator.ValidateSettings(blocks[0], blocks[1], blocks[2])) {
		if read.EachWorker && strings.HasPrefix(err.Error(), "detect: ") {
			continue // A missing block that the DAG does not read.
		}
		l.validatorFault(e, err, known)
	}
}

func (b block) accepted(written *yamlread.Node) json.RawMessage {
	if written == nil || written.Kind != yamlread.Object || b.schema == nil {
		return nil
	}
	value, _ := written.Plain().(map[string]any)
	invalid, _ := b.schema.Validate(value).(*jsonschema.ValidationError) //nolint:errorlint // the library returns it unwrapped
	if invalid == nil {
		return nil
	}
	for _, leaf := range leaves(invalid) {
		if len(leaf.InstanceLocation) > 0 {
			delete(value, leaf.InstanceLocation[0])
		} else if unknown, ok := leaf.ErrorKind.(*schemakind.AdditionalProperties); ok {
			for _, key := range unknown.Properties {
				delete(value, key)
			}
		}
	}
	encoded, _ := canonicalJSON(value)
	return encoded
}

func (l *loader) block(e entry, b block) {
	written, path := e.node.Get(b.key), join(e.path, b.key)
	name := e.handler.descriptor.Name
	switch {
	case b.invalid != nil:
		l.fault(e.blame("handler"), e.path+".handler", "the %s schema of handler %s is broken: %s", b.key, name, b.invalid)
		return
	case b.refused && written != nil:
		l.fault(e.node.Field(b.key).At, path, "handler %s takes no %s block", name, b.key)
		return
	case b.schema == nil, written != nil && written.Kind != yamlread.Object:
		return
	}
	value := any(map[string]any{})
	if written != nil {
		value = written.Plain()
	}
	if err := b.schema.Validate(value); err != nil {
		l.schemaFaults(e, b, err)
	}
}

// In `[gzip, -9, FILE]` YAML reads -9 as a number, but an argument is text. The spelling is kept, so 007 stays 007.
func (e entry) asText() {
	if e.handler == nil {
		return
	}
	for _, b := range e.handler.blocks() {
		written := e.node.Get(b.key)
		if b.schema == nil || written == nil || written.Kind != yamlread.Object {
			continue
		}
		failed, ok := b.schema.Validate(written.Plain()).(*jsonschema.ValidationError) //nolint:errorlint // the library returns it unwrapped
		if !ok {
			continue
		}
		for _, leaf := range leaves(failed) {
			wrong, ok := leaf.ErrorKind.(*schemakind.Type)
			if ok && slices.Contains(wrong.Want, "string") {
				becomeText(written.Follow(leaf.InstanceLocation))
			}
		}
	}
}

func becomeText(n *yamlread.Node) {
	switch n.Kind {
	case yamlread.Integer, yamlread.Number, yamlread.Bool:
		n.Kind = yamlread.Text
	case yamlread.Null, yamlread.Text, yamlread.List, yamlread.Object:
	}
}

func (l *loader) schemaFaults(e entry, b block, err error) {
	invalid, ok := err.(*jsonschema.ValidationError) //nolint:errorlint // the library returns it unwrapped
	if !ok {
		l.fault(e.blame(b.key), join(e.path, b.key), "%s", err)
		return
	}
	for _, leaf := range leaves(invalid) {
		l.schemaFault(e, b, leaf)
	}
}

// Of anyOf and oneOf leaves returns only the group, because its branches contradict each other.
func leaves(failed *jsonschema.ValidationError) []*jsonschema.ValidationError {
	switch failed.ErrorKind.(type) {
	case *schemakind.AnyOf, *schemakind.OneOf, *schemakind.Not, *schemakind.Contains:
		return []*jsonschema.ValidationError{failed}
	}
	if len(failed.Causes) == 0 {
		return []*jsonschema.ValidationError{failed}
	}
	var all []*jsonschema.ValidationError
	for _, cause := range failed.Causes {
		all = append(all, leaves(cause)...)
	}
	return all
}

func (l *loader) schemaFault(e entry, b block, failed *jsonschema.ValidationError) {
	keys := append([]string{b.key}, failed.InstanceLocation...)
	at, path := e.blame(keys...), e.path+"."+strings.Join(keys, ".")
	switch reason := failed.ErrorKind.(type) {
	case *schemakind.AdditionalProperties:
		known := properties(b.schema, failed)
		for _, name := range reason.Properties {
			l.fault(e.keyPlace(keys, name), join(path, name), "unknown key%s", suggest.Clause(name, known))
		}
	case *schemakind.Required:
		for _, name := range reason.Missing {
			l.fault(at, join(path, name), "is missing: handler %s needs it", e.handler.descriptor.Name)
		}
	case *schemakind.AnyOf, *schemakind.OneOf:
		l.fault(at, path, "matches none of the allowed forms: %s", strings.Join(branches(failed), "; or "))
	default:
		l.fault(at, path, "%s", plainly(failed.ErrorKind))
	}
}

func plainly(kind jsonschema.ErrorKind) string {
	switch reason := kind.(type) {
	case *schemakind.Type:
		return fmt.Sprintf("is %s, but must be %s", yamlread.SchemaKinds(reason.Got), yamlread.SchemaKinds(reason.Want...))
	case *schemakind.MinItems:
		return fmt.Sprintf("has %d entries, and needs %d or more", reason.Got, reason.Want)
	case *schemakind.MaxItems:
		return fmt.Sprintf("has %d entries, and may have %d", reason.Got, reason.Want)
	case *schemakind.MinLength:
		if reason.Got == 0 {
			return "must not be empty"
		}
		return fmt.Sprintf("has %d characters, and needs %d or more", reason.Got, reason.Want)
	case *schemakind.MaxLength:
		return fmt.Sprintf("has %d characters, and may have %d", reason.Got, reason.Want)
	}
	return kind.LocalizedString(message.NewPrinter(language.English))
}

func branches(failed *jsonschema.ValidationError) []string {
	var texts []string
	for _, cause := range failed.Causes {
		for _, leaf := range leaves(cause) {
			texts = append(texts, plainly(leaf.ErrorKind))
		}
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

func (e entry) keyPlace(parents []string, key string) yamlread.Place {
	if found := e.node.Follow(parents).Field(key); found != nil {
		return found.At
	}
	return e.blame(parents...)
}

func properties(schema *jsonschema.Schema, failed *jsonschema.ValidationError) []string {
	for _, step := range failed.InstanceLocation {
		for schema.Ref != nil {
			schema = schema.Ref
		}
		if schema = schema.Properties[step]; schema == nil {
			return nil
		}
	}
	for schema.Ref != nil {
		schema = schema.Ref
	}
	return sortedKeys(schema.Properties)
}

// settingPath matches the start of a validator's message, such as "execute.command[1]: ".
var settingPath = regexp.MustCompile(`^((?:params|detect|execute)(?:\.[\w-]+|\[\d+\])*): `)

var pathSteps = regexp.MustCompile(`[\w-]+`)

// A schema fault in the same place suppresses a validator's: the validator gets no rejected keys.
func (l *loader) validatorFault(e entry, err error, known Faults) {
	text := err.Error()
	found := settingPath.FindStringSubmatch(text)
	if found == nil {
		if len(known) == 0 {
			l.fault(e.blame(), e.path, "%s", text)
		}
		return
	}
	path := e.path + "." + found[1]
	for _, fault := range known {
		if strings.HasPrefix(fault.Path, path) || strings.HasPrefix(path, fault.Path) {
			return
		}
	}
	steps := pathSteps.FindAllString(found[1], -1)
	l.fault(e.blame(steps...), path, "%s", strings.TrimPrefix(text, found[0]))
}
