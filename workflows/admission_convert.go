package workflows

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/admission"
)

func coreHolder(h contract.AdmissionHolder) admission.Holder {
	return admission.Holder{ID: h.WorkflowID, Run: h.FirstRunID}
}

func wireHolder(h admission.Holder) contract.AdmissionHolder {
	return contract.AdmissionHolder{WorkflowID: h.ID, FirstRunID: h.Run}
}

func askedOf(in contract.AdmissionRequest) (admission.Asked, error) {
	asked := admission.Asked{
		Holder: coreHolder(in.Holder), JobType: in.JobType, Grace: in.Grace.Std(), DeclaredAt: in.DeclaredAt,
		Release: in.Release, ReleaseAll: in.ReleaseAll, Reassert: in.Reassert, Reset: in.Reset, Budget: coreBudget(in.Budget),
	}
	for _, told := range in.Endings {
		endings, err := coreEndings(in.JobType, told)
		if err != nil {
			return asked, err
		}
		asked.Endings = append(asked.Endings, endings)
	}
	for _, item := range in.Items {
		request, err := requestOf(item)
		if err != nil {
			return asked, err
		}
		asked.Requests = append(asked.Requests, request)
	}
	for _, held := range in.Held {
		request, err := requestOf(held.AdmissionItem)
		if err != nil {
			return asked, err
		}
		asked.Held = append(asked.Held, admission.Held{Request: request, Fence: held.Fence, Since: held.Since})
	}
	return asked, nil
}

func requestOf(item contract.AdmissionItem) (admission.Request, error) {
	request := admission.Request{ID: item.ID, Lane: item.Lane, Distinct: item.Distinct, Priority: item.Priority, Fences: item.Fences, For: item.For, Start: item.Start}
	keys, err := admission.UnpackKeys(item.Keys)
	if err != nil {
		return request, fmt.Errorf("item %s: %w", item.ID, err)
	}
	request.Keys = keys
	for _, amount := range item.Pools {
		request.Pools = append(request.Pools, admission.Amount{Pool: amount.Pool, N: amount.N, Size: amount.Size})
	}
	for _, object := range item.Objects {
		request.Objects = append(request.Objects, admission.Object{Name: object.Name, Shared: object.Shared})
	}
	return request, nil
}

// grantOf lists the taken keys by their holders, in the order of their first.
func grantOf(d admission.Granted) contract.AdmissionGrant {
	grant := contract.AdmissionGrant{ID: d.ID, Fence: d.Fence, Fences: d.Fences, HeldBack: wireHeldKeys(d.Off)}
	index := map[string]int{}
	for _, taken := range d.Taken {
		at, known := index[taken.By.ID]
		if !known {
			at = len(grant.Taken)
			index[taken.By.ID] = at
			grant.Taken = append(grant.Taken, contract.AdmissionTaken{By: taken.By.ID})
		}
		grant.Taken[at].Indexes = append(grant.Taken[at].Indexes, taken.Index)
	}
	return grant
}

// maxAdmissionState bounds what is unpacked, as a guard against a corrupt input.
const maxAdmissionState = 64 << 20

func packAdmission(core *admission.Desk) ([]byte, error) { return packJSON(core.Snapshot()) }

func packJSON(value any) ([]byte, error) {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if err := json.NewEncoder(writer).Encode(value); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}

func unpackAdmission(packed []byte) (*admission.Desk, error) {
	var snapshot admission.Snapshot
	if err := unpackJSON(packed, &snapshot); err != nil {
		return nil, err
	}
	return admission.Restore(snapshot)
}

func unpackJSON(packed []byte, into any) error {
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return fmt.Errorf("unpack the state: %w", err)
	}
	if err := json.NewDecoder(io.LimitReader(reader, maxAdmissionState)).Decode(into); err != nil {
		return fmt.Errorf("read the state: %w", err)
	}
	return nil
}

func wireUse(u admission.Use) contract.AdmissionUse {
	return contract.AdmissionUse{
		WorkflowID: u.Holder.ID, ID: u.ID, JobType: u.JobType, For: u.For, Since: u.Since,
		N: u.N, Shared: u.Shared, Kept: u.Kept, FreeAt: u.FreeAt,
	}
}

func wireUses(uses []admission.Use) []contract.AdmissionUse {
	var list []contract.AdmissionUse
	for _, use := range uses {
		list = append(list, wireUse(use))
	}
	return list
}

func wirePool(p admission.PoolView) contract.AdmissionPool {
	return contract.AdmissionPool{
		Name: p.Name, Size: p.Size, Declared: p.Declared, Operator: p.Operator, Used: p.Used,
		Holders: wireUses(p.Holders), Waiting: wireUses(p.Waiting),
	}
}

// admissionView is what people see.
func admissionView(core *admission.Desk) contract.AdmissionView {
	seen := core.View()
	view := contract.AdmissionView{Recovering: seen.Recovering, Expected: seen.Expected, Keys: seen.Keys}
	for _, l := range seen.Lanes {
		lane := contract.AdmissionLane{Name: l.Name, Waiting: wireUses(l.Waiting)}
		if l.Holder != nil {
			lane.Holder = new(wireUse(*l.Holder))
		}
		view.Lanes = append(view.Lanes, lane)
	}
	for _, p := range seen.Pools {
		view.Pools = append(view.Pools, wirePool(p))
	}
	for _, o := range seen.Objects {
		view.Objects = append(view.Objects, contract.AdmissionThing{Name: o.Name, Holders: wireUses(o.Holders), Waiting: wireUses(o.Waiting)})
	}
	for _, h := range core.Holders() {
		view.Holders = append(view.Holders, wireHolder(h))
	}
	return view
}
