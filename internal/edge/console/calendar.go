package console

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/roundsman/roundsman/internal/edge/api"
	"github.com/roundsman/roundsman/internal/edge/api/problem"
	"github.com/roundsman/roundsman/internal/engine/access"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/starter/calendar"
)

// Operations adds the operations for calendar, times and graph.
func Operations() func(*api.API) {
	return func(a *api.API) {
		memory := new(calendar.Memory)
		addCalendar(a, memory)
		addTimes(a, memory)
		addGraph(a)
		addItemMap(a)
	}
}

type calendarInput struct {
	JobType string `query:"job_type" maxLength:"63" doc:"Only this job type"`
	Days    int    `query:"days" minimum:"1" maximum:"7" default:"7"`
	Limit   int    `query:"limit" minimum:"1" maximum:"10000" default:"1000" doc:"The most ticks: the nearest to now"`
	Zone    string `query:"zone" maxLength:"64" default:"UTC" doc:"The time zone of days, such as Europe/Berlin"`

	Since time.Time `query:"since" doc:"List only the ticks from then on"`
	Until time.Time `query:"until" doc:"List only the ticks to then"`
}

func (in calendarInput) listed() window.Span { return window.Span{From: in.Since, To: in.Until} }

func (in calendarInput) zone() (*time.Location, error) {
	zone, err := time.LoadLocation(in.Zone)
	if err != nil {
		return nil, problem.Newf(http.StatusUnprocessableEntity, "", "zone %q is not known: write a name such as Europe/Berlin", in.Zone)
	}
	return zone, nil
}

func cut[T any](all []T, limit int) (kept []T, more int) {
	kept = all[:min(len(all), max(limit, 1))]
	return kept, len(all) - len(kept)
}

// steady keeps the ETag of an answer that differs only in a span's ends.
const steady = time.Hour

func (in calendarInput) names() []string {
	if in.JobType == "" {
		return nil
	}
	return []string{in.JobType}
}

func (in calendarInput) span() time.Duration { return time.Duration(in.Days) * 24 * time.Hour }

func addCalendar(a *api.API, memory *calendar.Memory) {
	may := access.Permission{Verb: access.View, Kind: access.JobTypes}
	api.Add(a, api.Operation{
		ID: "get-forecast", Method: http.MethodGet, Path: "/forecast", Tag: "calendar", Summary: "List the runs of the next days, and the skipped instants",
		May: may, Reach: api.Some,
		Live: api.LiveCalendar(),
	}, func(ctx context.Context, call *api.Call, in *calendarInput) (calendar.Forecast, error) {
		zone, err := in.zone()
		if err != nil {
			return calendar.Forecast{}, err
		}
		found, err := memory.Forecast(ctx, call.Client, in.span(), in.names()...)
		sees := func(name string) bool { return call.Sees(access.Scope{JobType: name}) }
		found.Ticks = slices.DeleteFunc(found.Ticks, func(t calendar.ForecastTick) bool { return !sees(t.JobType) })
		found.Types = slices.DeleteFunc(found.Types, func(t calendar.ForecastType) bool { return !sees(t.JobType) })
		found.Until = found.Until.Truncate(steady)
		found = found.WithDays(zone).Keep(in.listed())
		found.Ticks, found.More = cut(found.Ticks, in.Limit)
		return found, err
	})
	api.Add(a, api.Operation{
		ID: "get-ledger", Method: http.MethodGet, Path: "/ledger", Tag: "calendar", Summary: "List the outcome of each scheduled instant of the last days",
		May: may, Reach: api.Some,
		Live: api.LiveCalendar(),
	}, func(ctx context.Context, call *api.Call, in *calendarInput) (calendar.Ledger, error) {
		zone, err := in.zone()
		if err != nil {
			return calendar.Ledger{}, err
		}
		now := time.Now().UTC()
		found, err := calendar.LedgerOf(ctx, call.Client, now, now.Add(-in.span()).Truncate(steady), in.names()...)
		found.Ticks = slices.DeleteFunc(found.Ticks, func(t calendar.LedgerTick) bool { return !call.Sees(access.Scope{JobType: t.JobType}) })
		found.Count()
		found.CountDays(zone)
		found.Keep(in.listed())
		found.KeptSince = found.KeptSince.Add(steady - 1).Truncate(steady)
		found.Ticks, found.More = cut(found.Ticks, in.Limit)
		return found, err
	})
}
