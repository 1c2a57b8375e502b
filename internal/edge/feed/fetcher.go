package feed

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/internal/edge/api/problem"
)

// The hub's lock guards the fields of a fetcher. Each start creates joined and changed.
type fetcher struct {
	Topic

	hub             *Hub
	rooms           map[string]*room
	stop            context.CancelFunc
	joined, changed chan struct{}
}

type room struct {
	make    Make
	viewers map[*Stream]struct{}
	// refused is the reason why latest is not newer. version counts changes of both.
	latest  Picture
	refused error
	version int
	// patch leads from the picture with the digest before to latest.
	patch  []byte
	before string
}

func (f *fetcher) enter(seat Seat, viewer *Stream) *room {
	r, known := f.rooms[seat.Set]
	if !known {
		r = &room{make: seat.Make, viewers: map[*Stream]struct{}{}}
		f.rooms[seat.Set] = r
	}
	r.viewers[viewer] = struct{}{}
	switch {
	case f.stop == nil:
		f.start()
	case !known:
		poke(f.joined)
	}
	return r
}

func (f *fetcher) start() {
	ctx, stop := context.WithCancel(context.Background())
	f.stop, f.joined, f.changed = stop, make(chan struct{}, 1), make(chan struct{}, 1)
	loop := &looking{fetcher: f, joined: f.joined, changed: f.changed}
	go loop.run(ctx)
}

func (f *fetcher) leave(set string, viewer *Stream) {
	r := f.rooms[set]
	delete(r.viewers, viewer)
	if len(r.viewers) == 0 {
		delete(f.rooms, set)
	}
	if len(f.rooms) == 0 && f.stop != nil {
		f.stop()
		f.stop = nil
	}
}

type looking struct {
	*fetcher

	joined, changed <-chan struct{}
	// second fires when a lagging source shows the last change.
	second <-chan time.Time
	pace   time.Duration
}

func (l *looking) run(ctx context.Context) {
	for {
		began := time.Now()
		l.paced(l.look(ctx))
		if !l.await(ctx, began) {
			return
		}
	}
}

func (l *looking) paced(news bool) {
	switch {
	case l.Busy == 0:
		l.pace = l.Every
	case news || l.pace == 0:
		l.pace = l.Busy
	default:
		l.pace = min(2*l.pace, l.Every)
	}
}

func (l *looking) await(ctx context.Context, began time.Time) bool {
	due := time.NewTimer(time.Until(time.Now().Truncate(l.pace).Add(l.pace)))
	defer due.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-l.joined:
		return true
	case <-due.C:
		return true
	case <-l.second:
		l.second = nil
		l.stale()
		return true
	case <-l.changed:
	}
	select {
	case <-ctx.Done():
		return false
	case <-time.After(max(Debounce, time.Until(began.Add(l.Gap)))):
	}
	select { // Changes of the same moment share a look.
	case <-l.changed:
	default:
	}
	l.stale()
	if l.Lag > 0 {
		l.second = time.After(l.Lag)
	}
	return true
}

func (l *looking) stale() {
	if l.Stale != nil {
		l.Stale()
	}
}

func (l *looking) look(ctx context.Context) (news bool) {
	l.hub.mu.Lock()
	rooms := slices.Collect(maps.Values(l.rooms))
	l.hub.mu.Unlock()
	for _, r := range rooms {
		limited, cancel := context.WithTimeout(ctx, fetchWithin)
		picture, err := r.make(limited)
		cancel()
		if ctx.Err() != nil {
			return news
		}
		l.hub.mu.Lock()
		last, patched := r.latest, r.patched()
		l.hub.mu.Unlock()
		var patch []byte
		if patched && err == nil && picture.Since != nil && last.Digest != "" && last.Digest != picture.Digest {
			patch = picture.Since(last.Body)
		}
		l.hub.mu.Lock()
		news = r.show(picture, err, patch) || news
		l.hub.mu.Unlock()
	}
	return news
}

func (r *room) patched() bool {
	for viewer := range r.viewers {
		if slices.ContainsFunc(viewer.seats, func(t *taken) bool { return t.room == r && t.Patches }) {
			return true
		}
	}
	return false
}

func (r *room) show(picture Picture, err error, patch []byte) (news bool) {
	refused := err
	if err == nil {
		refused = picture.Refused
	}
	news = r.version == 0 || reason(refused) != reason(r.refused)
	if err == nil {
		if picture.Digest != r.latest.Digest {
			news, r.before, r.patch = true, r.latest.Digest, patch
		}
		r.latest = picture
	}
	r.refused = refused
	if !news {
		return false
	}
	r.version++
	for viewer := range r.viewers {
		poke(viewer.ready)
	}
	return true
}

// reason is the part of a refusal that counts as a difference. Words with a digit are left out: ids, times and counts differ at each look.
func reason(refused error) string {
	if refused == nil {
		return ""
	}
	told := problem.From(refused)
	words := strings.Fields(told.Code + " " + told.Detail + " " + told.Remedy)
	return strings.Join(slices.DeleteFunc(words, func(word string) bool { return strings.ContainsAny(word, "0123456789") }), " ")
}
