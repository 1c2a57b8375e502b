package run

import (
	"cmp"
	"slices"
)

// register holds items by id in the order of addition. The costs of its operations except all do not depend on its size.
type register[T any] struct {
	byID map[string]registered[T]
	last int
}

type registered[T any] struct {
	value T
	place int
}

func (r *register[T]) len() int { return len(r.byID) }

func (r *register[T]) has(id string) bool {
	_, known := r.byID[id]
	return known
}

func (r *register[T]) get(id string) (T, bool) {
	one, known := r.byID[id]
	return one.value, known
}

func (r *register[T]) put(id string, value T) {
	if r.byID == nil {
		r.byID = map[string]registered[T]{}
	}
	one, known := r.byID[id]
	if !known {
		r.last++
		one.place = r.last
	}
	one.value = value
	r.byID[id] = one
}

func (r *register[T]) remove(id string) { delete(r.byID, id) }

func (r *register[T]) all() []T {
	list := make([]registered[T], 0, len(r.byID))
	//workflowcheck:ignore sorted right below
	for _, one := range r.byID {
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b registered[T]) int { return cmp.Compare(a.place, b.place) })
	values := make([]T, len(list))
	for i := range list {
		values[i] = list[i].value
	}
	return values
}
