package fleet

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"slices"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/jobtype"
)

// descriptors stores one copy of each descriptor: a fleet runs few different binaries.
type descriptors struct {
	byDigest map[uint64]*sharedDescriptor
}

type sharedDescriptor struct {
	descriptor *jobtype.Descriptor
	uses       int
}

func (p *descriptors) share(in contract.WorkerRegistration) contract.WorkerRegistration {
	if p.byDigest == nil {
		p.byDigest = map[uint64]*sharedDescriptor{}
	}
	in.Capabilities = slices.Clone(in.Capabilities)
	for i, c := range in.Capabilities {
		if c.Descriptor == nil {
			continue
		}
		digest, _ := digestOf(c.Descriptor)
		one := p.byDigest[digest]
		if one == nil {
			one = &sharedDescriptor{descriptor: c.Descriptor}
			p.byDigest[digest] = one
		}
		one.uses++
		in.Capabilities[i].Descriptor = one.descriptor
	}
	return in
}

func (p *descriptors) release(in contract.WorkerRegistration) {
	for _, c := range in.Capabilities {
		if c.Descriptor == nil {
			continue
		}
		digest, _ := digestOf(c.Descriptor)
		if one := p.byDigest[digest]; one != nil {
			if one.uses--; one.uses == 0 {
				delete(p.byDigest, digest)
			}
		}
	}
}

func digestOf(v any) (digest uint64, size int) {
	data, err := json.Marshal(v)
	if err != nil {
		return 0, 0
	}
	sum := fnv.New64a()
	_, _ = sum.Write(data) // It never fails.
	return sum.Sum64(), len(data)
}

// Handlers lists the descriptors of all workers that are not deleted, by name.
func (r *Registry) Handlers() contract.HandlersQueryResult {
	result := contract.HandlersQueryResult{Handlers: []contract.FleetHandler{}}
	index := map[*jobtype.Descriptor]int{}
	for _, w := range r.live() {
		for _, c := range w.registration.Capabilities {
			if c.Descriptor == nil {
				continue
			}
			at, known := index[c.Descriptor]
			if !known {
				at = len(result.Handlers)
				index[c.Descriptor] = at
				result.Handlers = append(result.Handlers, contract.FleetHandler{Descriptor: *c.Descriptor})
			}
			result.Handlers[at].Workers++
		}
	}
	slices.SortStableFunc(result.Handlers, func(a, b contract.FleetHandler) int {
		return cmp.Compare(a.Descriptor.Name, b.Descriptor.Name)
	})
	return result
}

func withoutDescriptors(capabilities []contract.Capability) []contract.Capability {
	bare := slices.Clone(capabilities)
	for i := range bare {
		bare[i].Descriptor = nil
	}
	return bare
}
