// Package runview has the variables .Run, .Schedule and .Worker of templates. It is pure.
package runview

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/roundsman/roundsman/internal/lib/suggest"
	"github.com/roundsman/roundsman/jobtype"
)

// Run is .Run in templates.
type Run struct {
	ID, JobType string
	Started     Time
}

// Schedule is .Schedule in templates.
type Schedule struct{ Time Time }

// Worker is .Worker in templates.
type Worker struct {
	ID     string
	Labels map[string]string
}

// Time is a time that prints as RFC 3339 in UTC.
type Time struct{ time.Time }

// String returns the time as RFC 3339 in UTC.
func (t Time) String() string { return t.UTC().Format(time.RFC3339) }

// Add sets .Run and .Schedule in the data of a template.
func Add(data map[string]any, run jobtype.RunInfo, jobType string) {
	data["Run"] = Run{ID: run.ID, JobType: jobType, Started: Time{run.StartedAt.UTC()}}
	data["Schedule"] = Schedule{Time: Time{run.ScheduledAt.UTC()}}
}

// Fault returns the fault of a path into a view; empty: there is none. root is the variable of the view.
func Fault(root string, view reflect.Type, path []string) string {
	name, at := "."+root, view
	for _, key := range path {
		if at.Kind() != reflect.Struct {
			return ""
		}
		next := member(at, key)
		if next == nil {
			return unknown(name, key, at)
		}
		name, at = name+"."+key, next
	}
	return ""
}

// member returns the type of a field or of the result of a method; nil: there is neither.
func member(at reflect.Type, key string) reflect.Type {
	if method, ok := at.MethodByName(key); ok && method.Type.NumOut() > 0 {
		return method.Type.Out(0)
	}
	if field, ok := at.FieldByName(key); ok && field.IsExported() && !field.Anonymous {
		return field.Type
	}
	return nil
}

func unknown(name, key string, at reflect.Type) string {
	var fields, methods []string
	for field := range at.Fields() {
		if field.IsExported() && !field.Anonymous {
			fields = append(fields, field.Name)
		}
	}
	for method := range at.Methods() {
		methods = append(methods, method.Name)
	}
	text := fmt.Sprintf("%s has no field %s", name, key)
	if word := suggest.Word(key, append(fields, methods...)); word != "" {
		return fmt.Sprintf("%s; did you mean %s.%s?", text, name, word)
	}
	if len(fields) == 0 {
		return text + `; write a time like {{` + name + `.Format "2006-01-02"}}`
	}
	return text + "; it has " + strings.Join(fields, ", ")
}
