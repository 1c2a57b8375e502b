package api

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/edge/feed"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/starter"
)

type laneList struct {
	Lanes []contract.AdmissionLane `json:"lanes"`
	// Recovering is true while open runs report their holdings; nothing is granted then.
	Recovering bool `json:"recovering"`
	Page
}

type poolList struct {
	Pools []contract.AdmissionPool `json:"pools"`
	Page
}

type objectList struct {
	Objects []contract.AdmissionThing `json:"objects"`
	Page
}

type heldList struct {
	contract.HoldsResult
	// Cursor of the next page; empty on the last page.
	Next string    `json:"next,omitempty"`
	AsOf time.Time `json:"as_of"`
}

type pastGrantList struct {
	Grants []contract.PastGrant `json:"grants"`
	// Kept counts the releases still known, of Released in all.
	Kept     int   `json:"kept"`
	Released int64 `json:"released"`
	// Cursor of the next page; empty on the last page.
	Next string    `json:"next,omitempty"`
	AsOf time.Time `json:"as_of"`
}

// mostUses is the most entries in one answer of admission.
const mostUses = 500

// PoolPath names a pool in the path.
type PoolPath struct {
	Pool string `path:"pool" maxLength:"63" doc:"The resource pool"`
}

// PoolSize holds the current size of a pool, the declared one, and the operator's.
type PoolSize struct {
	Pool     string `json:"pool"`
	Size     int    `json:"size"`
	Declared int    `json:"declared,omitempty"`
	Operator int    `json:"operator,omitempty"`
}

var (
	viewAdmission    = access.Permission{Verb: access.View, Kind: access.Admission}    //nolint:gochecknoglobals // constants
	operateAdmission = access.Permission{Verb: access.Operate, Kind: access.Admission} //nolint:gochecknoglobals // constants
)

func (a *API) admission() {
	const tag = "admission"
	Add(a, Operation{
		ID: "list-lanes", Method: http.MethodGet, Path: "/lanes", Tag: tag, Summary: "List the lanes that runs hold or wait for",
		May: viewAdmission,
	}, a.listLanes)
	Add(a, Operation{
		ID: "list-pools", Method: http.MethodGet, Path: "/pools", Tag: tag, Summary: "List the resource pools that jobs hold or wait for",
		May: viewAdmission,
	}, a.listPools)
	Add(a, Operation{
		ID: "list-objects", Method: http.MethodGet, Path: "/objects", Tag: tag, Summary: "List the objects that jobs hold or wait for",
		May: viewAdmission,
	}, a.listObjects)
	Add(a, Operation{
		ID: "list-past-grants", Method: http.MethodGet, Path: "/past-grants", Tag: tag,
		Summary:     "List who held lanes, pools and objects before, from when to when, and for how long that was waited for",
		Description: "The last release comes first. Admission remembers the newest few hundred of lanes, and as many of pools and objects.",
		May:         viewAdmission,
		Live:        &feed.Topic{Every: queriedEvery, Gap: visibleGap, Of: []string{contract.AdmissionWorkflowID}},
	}, a.listPastGrants)
	Add(a, Operation{
		ID: "list-held", Method: http.MethodGet, Path: "/held", Tag: tag, Summary: "List holds: job types and keys disabled by the retry budget, and keys marked as done",
		May: access.Permission{Verb: access.View, Kind: access.JobTypes}, Reach: Some,
	}, a.listHeld)
	Add(a, Operation{
		ID: "get-pool-size", Method: http.MethodGet, Path: "/pools/{pool}/size", Tag: tag, Summary: "Get the size of a pool",
		May: viewAdmission,
	}, poolSize)
	Add(a, Operation{
		ID: "set-pool-size", Method: http.MethodPut, Path: "/pools/{pool}/size", Tag: tag, Summary: "Give a pool another size, at once and until it is resized again",
		Description: "Size 0 restores the configured size.",
		May:         operateAdmission, Already: Already(hasSize),
	}, func(ctx context.Context, call *Call, in *resize) (contract.AdmissionPool, error) {
		return call.Client.Admission().ResizePool(ctx, in.Pool, in.Body.Size, call.Name)
	})
}

func (a *API) listLanes(ctx context.Context, call *Call, in *struct{ Listing }) (laneList, error) {
	view, err := a.view(ctx, call, "lanes", in.Listing)
	if err != nil {
		return laneList{}, err
	}
	names := func(l contract.AdmissionLane) string { return l.Name }
	return laneList{lists.OrEmpty(view.Lanes), view.Recovering, pageOf(a, "lanes", view, view.Lanes, names, view.LaneCount)}, nil
}

func (a *API) listPools(ctx context.Context, call *Call, in *struct{ Listing }) (poolList, error) {
	view, err := a.view(ctx, call, "pools", in.Listing)
	if err != nil {
		return poolList{}, err
	}
	names := func(p contract.AdmissionPool) string { return p.Name }
	return poolList{lists.OrEmpty(view.Pools), pageOf(a, "pools", view, view.Pools, names, view.PoolCount)}, nil
}

func (a *API) listPastGrants(ctx context.Context, call *Call, in *struct {
	Listing
	Lane   string `query:"lane" maxLength:"63" doc:"Only turns in this lane"`
	Pool   string `query:"pool" maxLength:"63" doc:"Only with this pool"`
	Object string `query:"object" maxLength:"1000" doc:"Only with this object"`
	Run    string `query:"run" maxLength:"1000" doc:"Only grants of this run: its workflow id"`
},
) (pastGrantList, error) {
	const name = "past-grants"
	list := pastGrantList{Grants: []contract.PastGrant{}, AsOf: time.Now().UTC()}
	after, err := a.cursors.Position(name, in.Cursor)
	if err != nil {
		return list, err
	}
	before, _ := strconv.ParseInt(after, 10, 64) // A signed cursor is a number or empty.
	past, err := call.Client.Admission().PastGrants(ctx, contract.PastGrantsFilter{
		Lane: in.Lane, Pool: in.Pool, Object: in.Object, WorkflowID: in.Run, Before: before, Limit: in.Limit,
	})
	if is404(err) {
		return list, nil // There was no request yet.
	}
	list.Grants, list.Kept, list.Released = lists.OrEmpty(past.Grants), past.Kept, past.Released
	if past.More {
		list.Next = a.cursors.At(name, strconv.FormatInt(past.Grants[len(past.Grants)-1].Seq, 10))
	}
	return list, err
}

func (a *API) listObjects(ctx context.Context, call *Call, in *struct{ Listing }) (objectList, error) {
	view, err := a.view(ctx, call, "objects", in.Listing)
	if err != nil {
		return objectList{}, err
	}
	names := func(o contract.AdmissionThing) string { return o.Name }
	return objectList{lists.OrEmpty(view.Objects), pageOf(a, "objects", view, view.Objects, names, view.ObjectCount)}, nil
}

// seen is one page of admission as it was at a time.
type seen struct {
	contract.AdmissionView
	limit int
	asOf  time.Time
}

// view reads one page of admission, which has at most 500 entries of each kind.
func (a *API) view(ctx context.Context, call *Call, list string, in Listing) (seen, error) {
	page := seen{limit: min(in.Limit, mostUses), asOf: time.Now().UTC()}
	after, err := a.cursors.Position(list, in.Cursor)
	if err != nil {
		return page, err
	}
	if after == "" && page.limit == mostUses {
		var asOf time.Time
		if page.AdmissionView, asOf, err = read(ctx, call, a.known.admission); err == nil {
			page.asOf = asOf
		}
	} else {
		page.AdmissionView, err = call.Client.Admission().View(ctx, contract.AdmissionFilter{Limit: page.limit, After: after})
	}
	if is404(err) {
		return seen{limit: page.limit, asOf: page.asOf}, nil // There was no request yet.
	}
	return page, err
}

func is404(err error) bool { return err != nil && problem.From(err).Status == http.StatusNotFound }

func pageOf[T any](a *API, list string, of seen, kept []T, name func(T) string, total int) Page {
	page := Page{Total: total, AsOf: of.asOf}
	if len(kept) == of.limit && len(kept) > 0 {
		page.Next = a.cursors.At(list, name(kept[len(kept)-1]))
	}
	return page
}

// An alias, so that the document names the body after the operation.
type resize = struct {
	PoolPath
	Body struct {
		Size int `json:"size" minimum:"0"`
	}
}

func hasSize(ctx context.Context, call *Call, in *resize) (bool, error) {
	pool, err := poolSize(ctx, call, &in.PoolPath)
	if is404(err) {
		return in.Body.Size == 0, nil // No operator has resized it.
	}
	return pool.Operator == in.Body.Size, err
}

func poolSize(ctx context.Context, call *Call, in *PoolPath) (PoolSize, error) {
	for filter := (contract.AdmissionFilter{Limit: mostUses}); ; {
		view, err := call.Client.Admission().View(ctx, filter)
		if err != nil {
			return PoolSize{}, err
		}
		if at := slices.IndexFunc(view.Pools, func(p contract.AdmissionPool) bool { return p.Name == in.Pool }); at >= 0 {
			pool := view.Pools[at]
			return PoolSize{Pool: pool.Name, Size: pool.Size, Declared: pool.Declared, Operator: pool.Operator}, nil
		}
		if len(view.Pools) < mostUses {
			return PoolSize{}, &starter.NotFoundError{What: "pool", Name: in.Pool, Hint: "no job holds or waits for it, and no operator has resized it"}
		}
		filter.After = view.Pools[len(view.Pools)-1].Name
	}
}

func (a *API) listHeld(ctx context.Context, call *Call, in *struct{ Listing }) (heldList, error) {
	return a.held(ctx, call, in.Listing, "")
}

// The total is hidden from callers who may not view all holds.
func (a *API) held(ctx context.Context, call *Call, in Listing, jobType string) (heldList, error) {
	list, name := heldList{AsOf: time.Now().UTC()}, "held "+jobType
	offset := 0
	err := a.cursors.Resume(name, in.Cursor, &offset)
	if err != nil {
		return list, err
	}
	if list.HoldsResult, err = call.Client.Admission().Holds(ctx, contract.HoldsInput{JobType: jobType, Offset: offset, Limit: in.Limit}); err != nil {
		return list, err
	}
	if end := offset + len(list.Holds); len(list.Holds) > 0 && end < list.Total {
		if list.Next, err = a.cursors.Next(name, end); err != nil {
			return list, err
		}
	}
	list.Holds = access.Filter(call.Rights, call.operation.May, list.Holds, func(h contract.AdmissionHold) access.Scope { return scopeOfHeld(h.JobType) })
	if !call.Sees(access.Scope{}) {
		list.Tracked, list.Dropped = 0, 0
		if jobType == "" {
			list.Total = len(list.Holds)
		}
	}
	return list, nil
}
