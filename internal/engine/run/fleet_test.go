package run

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/run/sameview"
	"github.com/roundsman/roundsman/jobtype"
)

func TestAFleetIsDesertedWithoutAWorkerOnline(t *testing.T) {
	t.Parallel()
	off := node("a", 1)
	off.State = contract.WorkerOffline
	for name, c := range map[string]struct {
		view     WorkersChanged
		deserted bool
	}{
		"no worker":           {WorkersChanged{}, true},
		"all are OFFLINE":     {WorkersChanged{Workers: []contract.WorkerView{off}}, true},
		"one is ONLINE":       {WorkersChanged{Workers: []contract.WorkerView{off, node("b", 1)}}, false},
		"a rebuilt registry":  {WorkersChanged{Workers: []contract.WorkerView{node("b", 1)}, Incomplete: true}, true},
		"the last one leaves": {WorkersChanged{Partial: true, Gone: []string{"c"}}, true},
	} {
		s := play(t, Config{}, jobtype.Policy{})
		if name == "the last one leaves" {
			s.step(WorkersChanged{Workers: []contract.WorkerView{node("c", 1)}})
		}
		s.step(c.view)
		assert.Equal(t, c.deserted, s.e.Deserted(), name)
	}
}

// A difference in any field counts as a change.
func TestEveryFieldOfAViewCounts(t *testing.T) {
	t.Parallel()
	view := func() *contract.WorkerView { return &contract.WorkerView{Capabilities: []contract.Capability{{}}} }
	differ := func(name string, field func(*contract.WorkerView) reflect.Value) {
		a, b := view(), view()
		switch v := field(b); v.Kind() {
		case reflect.String:
			v.SetString("x")
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Int, reflect.Int64:
			v.SetInt(1)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		case reflect.Map:
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(reflect.ValueOf("x"), reflect.ValueOf("y"))
		default:
			t.Fatalf("%s: %s", name, v.Kind())
		}
		assert.False(t, sameview.Workers(a, b), name)
	}
	assert.True(t, sameview.Workers(view(), view()))
	for f := range reflect.TypeFor[contract.WorkerView]().Fields() {
		if f.Name != "ID" {
			differ(f.Name, func(w *contract.WorkerView) reflect.Value { return reflect.ValueOf(w).Elem().FieldByIndex(f.Index) })
		}
	}
	for f := range reflect.TypeFor[contract.Capability]().Fields() {
		if f.Name != "Descriptor" { // Views leave it empty.
			differ(f.Name, func(w *contract.WorkerView) reflect.Value {
				return reflect.ValueOf(&w.Capabilities[0]).Elem().FieldByIndex(f.Index)
			})
		}
	}
}
