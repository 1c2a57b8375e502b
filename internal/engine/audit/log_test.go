package audit

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/roundsman/roundsman/contract"
)

var zero = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

func operator(actor, action, object string) contract.AuditEntry {
	return contract.AuditEntry{Kind: contract.AuditOperator, Actor: actor, Action: action, Object: object}
}

func objects(page contract.AuditPage) []string {
	list := []string{}
	for _, entry := range page.Entries {
		list = append(list, entry.Object)
	}
	return list
}

func TestKeepsTheNewestAndCountsTheRest(t *testing.T) {
	t.Parallel()
	l := New(3)
	for i := range 5 {
		assert.Equal(t, 1, l.Record(zero, operator("ann", "job.cancel", fmt.Sprint(i))))
	}
	page := l.Page(contract.AuditFilter{})
	assert.Equal(t, []string{"2", "3", "4"}, objects(page))
	assert.Equal(t, int64(2), page.Dropped)
	assert.Equal(t, int64(3), page.Entries[0].Seq)
	assert.Equal(t, 3, page.Limit)
	l.SetLimit(1)
	assert.Equal(t, []string{"4"}, objects(l.Page(contract.AuditFilter{})))
	l.SetLimit(0)
	assert.Equal(t, 1, l.Limit(), "0 changes nothing")
	assert.Equal(t, int64(4), l.Dropped())
}

func TestARepeatCountsOnce(t *testing.T) {
	t.Parallel()
	l := New(2)
	first := operator("ann", "job.cancel", "a")
	first.ID = "group/x|1"
	assert.Equal(t, 1, l.Record(zero, first))
	assert.Equal(t, 0, l.Record(zero, first))
	l.Record(zero, operator("", "", "b"), operator("", "", "c"))
	assert.Equal(t, 0, l.Record(zero, first), "although it was dropped")
	encoded, err := l.Encode(MaxEncoded)
	require.NoError(t, err)
	restored, err := Decode(encoded)
	require.NoError(t, err)
	assert.Equal(t, 0, restored.Record(zero, first), "after a restart too")
	assert.Equal(t, []string{"b", "c"}, objects(restored.Page(contract.AuditFilter{})))
	assert.Equal(t, Unknown, restored.Page(contract.AuditFilter{}).Entries[0].Actor)
}

func TestLongFieldsAreCutVisibly(t *testing.T) {
	t.Parallel()
	l := New(0)
	long := strings.Repeat("é", maxText)
	l.Record(zero, contract.AuditEntry{Kind: contract.AuditOperator, Actor: long, Before: long, After: long, Detail: long + "\xff", Object: long, Action: "policy.set"})
	entry := l.Page(contract.AuditFilter{}).Entries[0]
	for _, text := range []string{entry.Actor, entry.Before, entry.After, entry.Detail, entry.Object} {
		assert.LessOrEqual(t, len(text), maxText)
		assert.True(t, strings.HasSuffix(text, "…"), text)
		assert.True(t, utf8.ValidString(text))
	}
	assert.Equal(t, zero, entry.At)
	assert.Equal(t, 1, entry.Count)
}

// noise is text that no codec makes smaller by much.
func noise(seed uint64, size int) string {
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // test data
	var text strings.Builder
	for text.Len() < size {
		text.WriteByte(byte(' ' + 1 + random.IntN(94)))
	}
	return text.String()
}

// TestStaysWithinBytes: the log, a page of it and its encoding are bounded for all entries.
func TestStaysWithinBytes(t *testing.T) {
	t.Parallel()
	l := New(MaxEntries)
	const recorded = 9000
	for i := range uint64(recorded) {
		l.Record(zero, contract.AuditEntry{
			ID: fmt.Sprint(i), Kind: contract.AuditOperator, Actor: noise(i, maxName), From: noise(i+1, maxName), Object: noise(i+2, maxObject),
			Before: noise(i+3, maxText), After: noise(i+4, maxText), Detail: noise(i+5, maxText),
		})
	}
	assert.LessOrEqual(t, l.bytes, MaxBytes)
	assert.Equal(t, int64(recorded), l.Dropped()+int64(l.Len()))
	page := l.Page(contract.AuditFilter{})
	assert.True(t, page.More)
	assert.LessOrEqual(t, len(page.Entries)*2*maxText, MaxPageBytes)
	encoded, err := l.Encode(MaxEncoded)
	require.NoError(t, err)
	assert.LessOrEqual(t, len(encoded), MaxEncoded)
	assert.Greater(t, len(encoded), MaxEncoded/2, "no more is given up than must be")
	t.Logf("%d entries of noise: %d kept, %d bytes encoded", recorded, l.Len(), len(encoded))
	restored, err := Decode(encoded)
	require.NoError(t, err)
	assert.Equal(t, int64(recorded), restored.Dropped()+int64(restored.Len()))
	assert.Equal(t, page.Entries, restored.Page(contract.AuditFilter{}).Entries, "the newest are there")
}

// TestUsualEntriesAllTravel: the default number of entries as they usually are.
func TestUsualEntriesAllTravel(t *testing.T) {
	t.Parallel()
	l := New(0)
	for i := range DefaultEntries + 1 {
		l.Record(zero.Add(time.Duration(i)*time.Second), contract.AuditEntry{
			ID: fmt.Sprint(i), Kind: contract.AuditScheduler, Action: "delayed", Code: "RETRY_BACKOFF_UNTIL", JobType: fmt.Sprintf("type-%d", i%20),
			Object: fmt.Sprintf("group/type-%d-2026-11-20T%02d:%02d:00Z", i%20, i/60%24, i%60), Count: i % 7, Since: zero,
			Detail: fmt.Sprintf("job-%05d, job-%05d: exit code %d: %s", i, i+1, i%255, noise(uint64(i), 40)), //nolint:gosec // small
		})
	}
	encoded, err := l.Encode(MaxEncoded)
	require.NoError(t, err)
	t.Logf("%d usual entries: %d bytes of texts, %d encoded", l.Len(), l.bytes, len(encoded))
	restored, err := Decode(encoded)
	require.NoError(t, err)
	assert.Equal(t, DefaultEntries, restored.Len())
	assert.Equal(t, int64(1), restored.Dropped())
}

func TestDecodeRefusesRubbish(t *testing.T) {
	t.Parallel()
	_, err := Decode([]byte("rubbish"))
	require.ErrorContains(t, err, "read the log")
	_, err = Decode(nil)
	require.Error(t, err)
}

// model is the dumbest log there is: everything ever recorded.
type model struct {
	all   []contract.AuditEntry
	seen  map[string]bool
	limit int
	// gone counts the entries dropped by limits; a raised limit restores none.
	gone int
}

func (m *model) record(e contract.AuditEntry) {
	if e.ID != "" && m.seen[e.ID] {
		return
	}
	m.seen[e.ID] = true
	e.Seq, e.ID, e.Count = int64(len(m.all)+1), "", max(e.Count, 1)
	m.all = append(m.all, e)
	m.trim()
}

func (m *model) trim() { m.gone = max(m.gone, len(m.all)-m.limit) }

func (m *model) page(f contract.AuditFilter) (matching []contract.AuditEntry) {
	for _, e := range m.all[m.gone:] {
		if match(f, e) {
			matching = append(matching, e)
		}
	}
	return matching
}

func TestAnObjectIsNotAnotherThatBeginsWithIt(t *testing.T) {
	t.Parallel()
	l := New(0)
	for _, object := range []string{"worker/a", "worker/ab", "group/s-1", "group/s-1/job-00001", "group/s-10"} {
		l.Record(zero, operator("ann", "worker.cordon", object))
	}
	of := func(filter contract.AuditFilter) (objects []string) {
		for _, entry := range l.Page(filter).Entries {
			objects = append(objects, entry.Object)
		}
		return objects
	}
	assert.Equal(t, []string{"worker/a"}, of(contract.AuditFilter{Of: "worker/a", Limit: 1}))
	assert.Equal(t, []string{"group/s-1", "group/s-1/job-00001"}, of(contract.AuditFilter{Of: "group/s-1"}))
	assert.Len(t, of(contract.AuditFilter{Object: "group/s-1"}), 3)
}

// TestAgainstModel: after any sequence of records, repetitions, limits and restores all pages
// together equal the model.
func TestAgainstModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1, 12).Draw(t, "limit")
		l, m := New(limit), &model{seen: map[string]bool{}, limit: limit}
		clock := zero
		for range rapid.IntRange(0, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 9).Draw(t, "step") {
			case 0:
				m.limit = rapid.IntRange(1, 12).Draw(t, "limit")
				m.trim()
				l.SetLimit(m.limit)
			case 1:
				encoded, err := l.Encode(MaxEncoded)
				require.NoError(t, err)
				l, err = Decode(encoded)
				require.NoError(t, err)
			default:
				clock = clock.Add(time.Duration(rapid.IntRange(0, 5).Draw(t, "pause")) * time.Second)
				entry := drawEntry(t, clock)
				l.Record(clock, entry)
				m.record(entry)
			}
		}
		filter := drawFilter(t)
		assert.Equal(t, m.page(filter), allPages(l, filter))
		assert.Equal(t, m.gone, int(l.Dropped()))
		assert.Equal(t, len(m.all)-m.gone, l.Page(filter).Kept)
	})
}

func drawEntry(t *rapid.T, at time.Time) contract.AuditEntry {
	return contract.AuditEntry{
		ID: rapid.SampledFrom([]string{"", "a", "b", "c", "d", "e", "f", "g"}).Draw(t, "id"), At: at,
		Kind:    rapid.SampledFrom([]string{contract.AuditOperator, contract.AuditScheduler}).Draw(t, "kind"),
		Actor:   rapid.SampledFrom([]string{"ann", "bob"}).Draw(t, "actor"),
		JobType: rapid.SampledFrom([]string{"", "scrub", "vacuum"}).Draw(t, "type"),
		Object:  rapid.SampledFrom([]string{"", "group/scrub-1", "group/vacuum-1", "db"}).Draw(t, "object"),
		Count:   rapid.IntRange(0, 3).Draw(t, "count"),
	}
}

func drawFilter(t *rapid.T) contract.AuditFilter {
	f := contract.AuditFilter{
		Kind:    rapid.SampledFrom([]string{"", contract.AuditOperator, contract.AuditScheduler}).Draw(t, "kind"),
		Actor:   rapid.SampledFrom([]string{"", "ann"}).Draw(t, "actor"),
		JobType: rapid.SampledFrom([]string{"", "scrub"}).Draw(t, "type"),
		Object:  rapid.SampledFrom([]string{"", "group/", "group/scrub"}).Draw(t, "object"),
		Of:      rapid.SampledFrom([]string{"", "group/scrub-1", "db"}).Draw(t, "of"),
		After:   rapid.SampledFrom([]int64{0, 5}).Draw(t, "after"),
	}
	if rapid.Bool().Draw(t, "bounded") {
		f.Since, f.Until = zero.Add(20*time.Second), zero.Add(60*time.Second)
	}
	return f
}

// allPages reads page by page, three entries each.
func allPages(l *Log, filter contract.AuditFilter) (all []contract.AuditEntry) {
	filter.Limit = 3
	for {
		page := l.Page(filter)
		all = append(slices.Clip(page.Entries), all...)
		if !page.More {
			break
		}
		filter.Before = page.Entries[0].Seq
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// TestEntriesOfAnAge go with the next one that is recorded, also after the log travelled.
func TestEntriesOfAnAge(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	l := New(0)
	l.SetMaxAge(24 * time.Hour)
	for day := range 3 {
		l.Record(start.Add(time.Duration(day)*12*time.Hour), contract.AuditEntry{Action: "x"})
	}
	assert.Equal(t, 3, l.Len(), "the first is a day old")
	encoded, err := l.Encode(MaxEncoded)
	require.NoError(t, err)
	l, err = Decode(encoded)
	require.NoError(t, err)
	l.SetMaxAge(0)
	l.Record(start.Add(40*time.Hour), contract.AuditEntry{Action: "x"})
	assert.Equal(t, 2, l.Len())
	assert.Equal(t, int64(2), l.Dropped())
	l.SetMaxAge(-1)
	l.Record(start.Add(4000*time.Hour), contract.AuditEntry{Action: "x"})
	assert.Equal(t, 3, l.Len(), "nobody bounds it any more")
}

// An entry is superseded by a later entry about the same property of the same object, which a filter
// may leave out.
func TestALaterChangeSupersedes(t *testing.T) {
	t.Parallel()
	log := New(100)
	for _, one := range [][2]string{
		{"pool.resize", "pool/db"},
		{"worker.cordon", "worker/n"},
		{"worker.resize", "worker/n"},
		{"pool.resize", "pool/db"},
		{"worker.uncordon", "worker/n"},
		{"dag.run", "dag/a/b"},
		{"dag.run", "dag/a/b"},
		{"jobtype.set", "jobtype/a"},
		{"apply.update", "jobtype/b"},
	} {
		log.Record(zero, operator("ann", one[0], one[1]))
	}
	var superseded []int64
	for _, entry := range log.Page(contract.AuditFilter{}).Entries {
		if entry.Superseded {
			superseded = append(superseded, entry.Seq)
		}
	}
	assert.Equal(t, []int64{1, 2}, superseded)
	assert.True(t, log.Page(contract.AuditFilter{Before: 2}).Entries[0].Superseded)
}
