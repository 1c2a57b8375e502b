// Package jsonout writes the API's answers and --output json alike. An empty list or object is [] or {}, never null.
package jsonout

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
)

// JSON writes value with a line break at its end. It does not change value, which may be shared.
func JSON(value any, indent string) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(filled(value)); err != nil {
		return nil, err //nolint:wrapcheck // the caller adds the name
	}
	return text.Bytes(), nil
}

// filled returns a copy of value without nil lists.
func filled(value any) any {
	if value == nil {
		return nil
	}
	whole := reflect.New(reflect.TypeOf(value)).Elem()
	whole.Set(reflect.ValueOf(value))
	filler{}.fill(whole)
	return whole.Interface()
}

type filler map[reflect.Type]bool

func (f filler) may(t reflect.Type) bool {
	if known, is := f[t]; is {
		return known
	}
	f[t] = true // For a recursive type.
	f[t] = f.look(t)
	return f[t]
}

func (f filler) look(t reflect.Type) bool {
	if writesItself(t) || writesItself(reflect.PointerTo(t)) {
		return false
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Interface:
		return true
	case reflect.Pointer, reflect.Array:
		return f.may(t.Elem())
	case reflect.Struct:
		for field := range t.Fields() {
			if (field.IsExported() || field.Anonymous) && f.may(field.Type) {
				return true
			}
		}
	}
	return false
}

func writesItself(t reflect.Type) bool {
	return t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// fill changes v, which is not shared. It copies the values that v refers to first.
func (f filler) fill(v reflect.Value) {
	if !f.may(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Slice:
		f.fillSlice(v)
	case reflect.Map:
		f.fillMap(v)
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() || !v.CanSet() {
			return
		}
		inner := reflect.New(v.Elem().Type())
		inner.Elem().Set(v.Elem())
		f.fill(inner.Elem())
		if v.Kind() == reflect.Interface {
			inner = inner.Elem()
		}
		v.Set(inner)
	case reflect.Struct:
		f.fillStruct(v)
	}
}

func (f filler) fillSlice(v reflect.Value) {
	list := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	reflect.Copy(list, v)
	if f.may(v.Type().Elem()) {
		for i := range list.Len() {
			f.fill(list.Index(i))
		}
	}
	v.Set(list)
}

func (f filler) fillMap(v reflect.Value) {
	made := reflect.MakeMapWithSize(v.Type(), v.Len())
	for entry := v.MapRange(); entry.Next(); {
		value := reflect.New(v.Type().Elem()).Elem()
		value.Set(entry.Value())
		f.fill(value)
		made.SetMapIndex(entry.Key(), value)
	}
	v.Set(made)
}

// fillStruct skips fields that are omitted when nil.
func (f filler) fillStruct(v reflect.Value) {
	for i := range v.NumField() {
		field, about := v.Field(i), v.Type().Field(i)
		tag := about.Tag.Get("json")
		if !about.IsExported() && !about.Anonymous || tag == "-" || strings.Contains(tag, ",omit") && field.IsZero() {
			continue
		}
		f.fill(field)
	}
}
