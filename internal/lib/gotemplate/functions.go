package gotemplate

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"reflect"
	"text/template"
)

type allowance struct{ steps, text, output int }

// Functions of text/template that produce text are replaced by counted ones.
func (a *allowance) functions() template.FuncMap {
	return template.FuncMap{
		"items": a.items,
		"base":  path.Base, "dir": path.Dir,
		"json": func(value any) (string, error) {
			encoded, err := json.Marshal(value)
			if err != nil {
				return "", err
			}
			return string(encoded), a.charge(len(encoded))
		},
		"print":    a.counted(fmt.Sprint),
		"println":  a.counted(fmt.Sprintln),
		"html":     a.counted(template.HTMLEscaper),
		"js":       a.counted(template.JSEscaper),
		"urlquery": a.counted(template.URLQueryEscaper),
		"printf": func(format string, values ...any) (string, error) {
			if err := a.chargeFormat(format); err != nil {
				return "", err
			}
			return a.counted(func(values ...any) string { return fmt.Sprintf(format, values...) })(values...)
		},
	}
}

// items is inserted after the operand of every range. parts is the length of the loop's body.
func (a *allowance) items(parts int, v any) (any, error) {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Slice, reflect.Map, reflect.Array:
	case reflect.Invalid:
		return nil, nil //nolint:nilnil // a range over nothing does nothing
	default:
		return nil, fmt.Errorf("range works on lists and maps, not on %v", v)
	}
	n := r.Len()
	if n > a.steps/max(parts, 1) {
		return nil, fmt.Errorf("the loops of a template may take %d steps in all", maxSteps)
	}
	a.steps -= n * parts
	return v, nil
}

func (a *allowance) charge(n int) error {
	if a.text -= n; a.text < 0 {
		return fmt.Errorf("the functions of a template may produce %d bytes in all, no more than that", maxText)
	}
	return nil
}

func (a *allowance) counted(of func(...any) string) func(...any) (string, error) {
	return func(values ...any) (string, error) {
		for _, value := range values {
			text, ok := value.(string)
			if !ok {
				text = fmt.Sprint(value)
			}
			if err := a.charge(len(text) + 1); err != nil {
				return "", err
			}
		}
		return of(values...), nil
	}
}

// chargeFormat charges the widths and precisions of a format, which produce text without arguments.
func (a *allowance) chargeFormat(format string) error {
	number, verb := 0, false
	for _, r := range format {
		switch {
		case r == '%':
			verb = !verb
		case verb && (r == '*' || r == '['):
			return errors.New("printf takes neither * nor [ in its format")
		case verb && r >= '0' && r <= '9':
			number = min(number*10+int(r-'0'), maxText+1)
			continue
		case verb && r != '.' && r != '+' && r != '-' && r != '#' && r != ' ':
			verb = false
		}
		if err := a.charge(number); err != nil {
			return err
		}
		number = 0
	}
	return a.charge(len(format))
}
