package action

import (
	"maps"
	"slices"

	"github.com/roundsman/roundsman/internal/engine/access"
)

// Operation names an operation. The operations of the REST API have its operation ids.
type Operation string

// Args are the arguments of an action by name. A missing argument becomes an [Input].
type Args map[string]string

// Action is an operation with its arguments. All other fields follow from these.
type Action struct {
	Operation Operation `json:"operation"`
	Arguments Args      `json:"arguments,omitempty"`
	// Label is the text of the button, Effect the sentence of its dialog.
	Label  string `json:"label"`
	Effect string `json:"effect,omitempty"`
	// Danger marks an operation that stops work.
	Danger bool `json:"danger,omitempty"`
	// Command is the command line. A missing argument is a word in capitals.
	Command string `json:"command"`
	// Permission is that of the REST operation; empty: the operation needs a shell.
	Permission string   `json:"permission,omitempty"`
	Request    *Request `json:"request,omitempty"`
	Inputs     []Input  `json:"inputs,omitempty"`
}

// Request is the REST request of an action.
type Request struct {
	Method string `json:"method" enum:"GET,POST,PUT,PATCH,DELETE"`
	// Path is relative to /api/v1. A missing argument is {NAME}.
	Path string         `json:"path"`
	Body map[string]any `json:"body,omitempty"`
}

// Input is an argument that the action does not have.
type Input struct {
	Name string `json:"name"`
	Kind Kind   `json:"kind" enum:"text,number,checkbox"`
	// Label is the label of the field.
	Label    string `json:"label"`
	Required bool   `json:"required,omitempty"`
	// Body is the field of the request's body; empty: the argument is in the path.
	Body string `json:"body,omitempty"`
	// Word stands for the argument in the command line. Flag is the option of an optional argument.
	Word string `json:"word,omitempty"`
	Flag string `json:"flag,omitempty"`
}

// Kind is the type of an argument.
type Kind string

// The kinds of arguments.
const (
	Text     Kind = "text"
	Number   Kind = "number"
	Checkbox Kind = "checkbox"
)

// New returns the action of an operation, without unknown arguments. An operation outside [Operations] panics.
func New(operation Operation, args Args) Action {
	d, known := table()[operation]
	if !known {
		panic("no operation " + string(operation))
	}
	given := Args{}
	for _, p := range d.params {
		if value := args[p.name]; value != "" {
			given[p.name] = value
		}
	}
	for _, name := range d.settingsOf(args) {
		given[name] = args[name]
	}
	a := Action{
		Operation: operation, Arguments: given, Label: d.label, Effect: d.effect, Danger: d.danger,
		Command: d.line(given), Request: d.request(given), Inputs: d.inputs(given),
	}
	if d.may != (access.Permission{}) {
		a.Permission = d.may.String()
	}
	return a
}

// See refers to a command that shows something.
func See(operation Operation, args Args) string { return "see " + Code(operation, args) }

// Code is the command line of an operation as code within a sentence.
func Code(operation Operation, args Args) string { return "`" + New(operation, args).Command + "`" }

const get = "GET"

// Reads reports whether the action shows something and changes nothing.
func (a Action) Reads() bool {
	return a.Request != nil && a.Request.Method == get || a.Operation == ListReceivers
}

// Operations lists all operations, sorted.
func Operations() []Operation {
	return slices.Sorted(maps.Keys(table()))
}

// Params lists the names of the arguments of an operation.
func Params(operation Operation) []string {
	var list []string
	for _, p := range table()[operation].params {
		list = append(list, p.name)
	}
	return list
}

// Shell returns the reason why an operation needs a shell; empty: the REST API has it.
func Shell(operation Operation) string { return table()[operation].shell }
