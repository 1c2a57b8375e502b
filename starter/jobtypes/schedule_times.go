package jobtypes

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	schedulepb "go.temporal.io/api/schedule/v1"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/roundsman/roundsman/contract"
	"github.com/roundsman/roundsman/internal/engine/explain"
	"github.com/roundsman/roundsman/internal/engine/window"
	"github.com/roundsman/roundsman/internal/lib/crontab"
	"github.com/roundsman/roundsman/internal/lib/lists"
	"github.com/roundsman/roundsman/jobtype"
)

// maxComment is the server's limit for the comment of a calendar.
const maxComment = 200

// scheduleSpec converts cron expressions to structured calendars, so that the stored form can be compared. A
// restricted day of month and a restricted weekday mean "either", as in cron.
func scheduleSpec(written contract.ScheduleSpec) (*schedulepb.ScheduleSpec, error) {
	spec := &schedulepb.ScheduleSpec{}
	if written.Jitter > 0 {
		spec.Jitter = durationpb.New(written.Jitter.Std())
	}
	if written.Every > 0 {
		spec.Interval = []*schedulepb.IntervalSpec{{
			Interval: durationpb.New(written.Every.Std()), Phase: durationpb.New(written.Offset.Std()),
		}}
		return spec, nil
	}
	if len(written.Cron) == 0 {
		return nil, errors.New("schedule has neither every nor cron: set one of them")
	}
	spec.TimezoneName = cmp.Or(written.Timezone, "UTC")
	for _, text := range written.Cron {
		calendars, err := calendarsOf(text, written.Days)
		if err != nil {
			return nil, fmt.Errorf("schedule: %w", err)
		}
		for _, calendar := range calendars {
			spec.StructuredCalendar = append(spec.StructuredCalendar, structured(calendar, text))
		}
	}
	return spec, except(spec, written.Except)
}

// Calendars returns the calendars of a schedule, without its excepted days.
func Calendars(written contract.ScheduleSpec) (all []crontab.Calendar, err error) {
	for _, text := range written.Cron {
		calendars, err := calendarsOf(text, written.Days)
		if err != nil {
			return nil, err
		}
		all = append(all, calendars...)
	}
	return all, nil
}

func calendarsOf(cron string, days []string) (on []crontab.Calendar, err error) {
	expression, err := crontab.Parse(cron)
	switch {
	case err != nil:
		return nil, err
	case len(days) == 0:
		return expression.Calendars(), nil
	}
	parts, err := window.Parts(days)
	if err != nil {
		return nil, fmt.Errorf("days: %w", err)
	}
	for _, calendar := range expression.Calendars() {
		for _, part := range parts {
			if narrowed := onPart(calendar, part); len(narrowed.Month) > 0 {
				on = append(on, narrowed)
			}
		}
	}
	return on, nil
}

func onPart(calendar crontab.Calendar, part window.Part) crontab.Calendar {
	calendar.Month = slices.DeleteFunc(slices.Clone(calendar.Month), func(month int) bool { return !slices.Contains(part.Months, month) })
	calendar.DayOfMonth, calendar.DayOfWeek, calendar.Year = part.Days, part.Weekdays, part.Years
	return calendar
}

func except(spec *schedulepb.ScheduleSpec, days []string) error {
	if len(days) == 0 {
		return nil
	}
	parts, err := window.Parts(days)
	if err != nil {
		return fmt.Errorf("schedule: %w", err)
	}
	whole := crontab.Calendar{Minute: upTo(59), Hour: upTo(23), Month: upTo(12)[1:]}
	for _, part := range parts {
		excluded := structured(onPart(whole, part), "")
		excluded.Second = ranges(upTo(59))
		spec.ExcludeStructuredCalendar = append(spec.ExcludeStructuredCalendar, excluded)
	}
	return nil
}

func upTo(last int) []int {
	list := make([]int, last+1)
	for i := range list {
		list[i] = i
	}
	return list
}

// gapOf returns the smallest gap between two ticks of cron expressions; 0 for an invalid one.
func gapOf(texts []string) jobtype.Duration {
	var expressions []crontab.Expression
	for _, text := range texts {
		expression, err := crontab.Parse(text)
		if err != nil {
			return 0
		}
		expressions = append(expressions, expression)
	}
	if len(expressions) == 0 {
		return 0
	}
	return jobtype.Duration(crontab.Gap(expressions))
}

func structured(calendar crontab.Calendar, comment string) *schedulepb.StructuredCalendarSpec {
	made := &schedulepb.StructuredCalendarSpec{
		Second:     ranges([]int{0}),
		Minute:     ranges(calendar.Minute),
		Hour:       ranges(calendar.Hour),
		DayOfMonth: ranges(calendar.DayOfMonth),
		Month:      ranges(calendar.Month),
		DayOfWeek:  ranges(calendar.DayOfWeek),
		Comment:    jobtype.Clip(comment, maxComment),
	}
	if len(calendar.Year) > 0 {
		made.Year = ranges(calendar.Year)
	}
	return made
}

type run struct{ start, end, step int }

// Two values alone get no step.
func runs(values []int) []run {
	var found []run
	for i := 0; i < len(values); {
		r := run{start: values[i], end: values[i], step: 1}
		next := i + 1
		if next < len(values) {
			step := values[next] - values[i]
			length := 1
			for next < len(values) && values[next]-values[next-1] == step {
				next, length = next+1, length+1
			}
			if step == 1 || length > 2 {
				r.end, r.step = values[next-1], step
			} else {
				next = i + 1
			}
		}
		found = append(found, r)
		i = next
	}
	return found
}

func ranges(values []int) []*schedulepb.Range {
	split := runs(values)
	converted := make([]*schedulepb.Range, len(split))
	for i, r := range split {
		converted[i] = &schedulepb.Range{Start: int32(r.start), End: int32(r.end), Step: int32(r.step)} //nolint:gosec // calendar values are below 60
	}
	return converted
}

const shownTimes = 6

// shortTimes renders a spec for people, with one unit for each duration: "every 90 min offset 4 h". An offset of its own, such as
// 4h2m43s, is rounded.
func shortTimes(spec *schedulepb.ScheduleSpec) string {
	return renderTimes(spec, shownTimes, explain.Setting, explain.Span)
}

// timesText renders a spec for plans: "every 5m", "0 2 * * 1-5 in Europe/Berlin". The same times give the same text.
func timesText(spec *schedulepb.ScheduleSpec) string {
	return renderTimes(spec, math.MaxInt, short, short)
}

func renderTimes(spec *schedulepb.ScheduleSpec, most int, exact, about func(time.Duration) string) string {
	var times []string
	for _, interval := range spec.GetInterval() {
		text := "every " + exact(interval.GetInterval().AsDuration())
		if phase := interval.GetPhase().AsDuration(); phase != 0 {
			text += " offset " + about(phase)
		}
		times = append(times, text)
	}
	for _, calendar := range spec.GetStructuredCalendar() {
		times = append(times, "cron "+calendarText(calendar))
	}
	for _, text := range spec.GetCronString() {
		times = append(times, "cron string "+text)
	}
	slices.Sort(times)
	excluded := lists.Map(spec.GetExcludeStructuredCalendar(), calendarText)
	parts := []string{strings.Join(first(slices.Compact(times), most), " or ")}
	for _, text := range first(excluded, most) {
		parts = append(parts, "except "+text)
	}
	if zone := spec.GetTimezoneName(); zone != "" && zone != "UTC" {
		parts = append(parts, "in "+zone)
	}
	if jitter := spec.GetJitter().AsDuration(); jitter != 0 {
		parts = append(parts, "jitter "+exact(jitter))
	}
	if start := spec.GetStartTime(); start != nil {
		parts = append(parts, "from "+start.AsTime().Format(time.RFC3339))
	}
	if end := spec.GetEndTime(); end != nil {
		parts = append(parts, "until "+end.AsTime().Format(time.RFC3339))
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

func first(texts []string, most int) []string {
	if len(texts) <= most {
		return texts
	}
	return append(texts[:most:most], fmt.Sprintf("%d more", len(texts)-most))
}

func scheduleText(written contract.ScheduleSpec) string {
	spec, err := scheduleSpec(written)
	if err != nil {
		return fmt.Sprintf("%v (%v)", written, err)
	}
	return timesText(spec)
}

func calendarText(calendar *schedulepb.StructuredCalendarSpec) string {
	fields := []string{
		fieldText(calendar.GetMinute(), 0, 59), fieldText(calendar.GetHour(), 0, 23),
		fieldText(calendar.GetDayOfMonth(), 1, 31), fieldText(calendar.GetMonth(), 1, 12),
		fieldText(calendar.GetDayOfWeek(), 0, 6),
	}
	if second := fieldText(calendar.GetSecond(), 0, 59); second != "0" {
		fields = append(fields, "second "+second)
	}
	if len(calendar.GetYear()) > 0 {
		fields = append(fields, "year "+fieldText(calendar.GetYear(), 2000, 2100))
	}
	return strings.Join(fields, " ")
}

// fieldText renders the values of ranges: "*", "1-5", "0-55/5", "1,15".
func fieldText(given []*schedulepb.Range, low, high int) string {
	values := expand(given)
	if len(values) == 0 {
		return "never"
	}
	if len(values) == high-low+1 && values[0] == low {
		return "*"
	}
	var parts []string
	for _, r := range runs(values) {
		switch {
		case r.start == r.end:
			parts = append(parts, strconv.Itoa(r.start))
		case r.step == 1:
			parts = append(parts, fmt.Sprintf("%d-%d", r.start, r.end))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d/%d", r.start, r.end, r.step))
		}
	}
	return strings.Join(parts, ",")
}

// As the server reads ranges, no step means 1, an end before the start means the start.
func expand(given []*schedulepb.Range) []int {
	var values []int
	for _, r := range given {
		step, end := max(int(r.GetStep()), 1), max(int(r.GetEnd()), int(r.GetStart()))
		for value := int(r.GetStart()); value <= end; value += step {
			values = append(values, value)
		}
	}
	slices.Sort(values)
	return slices.Compact(values)
}

func short(duration time.Duration) string { return jobtype.Duration(duration).String() }
