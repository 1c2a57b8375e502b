package backlog

// Running makes room for jobs that run, and their successors.
func (b *Backlog) Running(n int) {
	if ahead := keyedAhead * n; ahead > b.ahead {
		b.ahead = max(2*b.ahead, ahead, keyedWindow) // It changes seldom.
		b.setShares()
	}
}

func (b *Backlog) setShares() {
	windows, before := [2]int{b.window, min(b.window, max(keyedWindow, keyedShare*b.active, b.ahead))}, b.shares
	b.windows = windows
	for kind, window := range windows {
		b.shares[kind] = max(window/max(b.active, 1), leastShare)
	}
	if b.shares != before {
		for _, q := range b.queues {
			b.place(q)
		}
	}
}

func (b *Backlog) recount(q *queue) {
	b.place(q)
	active := 0
	if q.waiting+q.open > 0 {
		active = 1
	}
	if was := q.active; was != active {
		q.active, b.active = active, b.active+active-was
		b.setShares()
	}
}

func (b *Backlog) room(kind int) int {
	if kind == 0 {
		return b.window - b.open
	}
	return min(b.window-b.open, b.windows[1]-b.openKeyed)
}

func (b *Backlog) place(q *queue) {
	heap := &b.ready[q.kind()]
	share := b.shares[q.kind()]
	switch ready := q.waiting > 0 && q.open < share; {
	case ready && q.at < 0:
		heap.Push(q)
	case ready:
		heap.Fix(q)
	case q.at >= 0:
		heap.Remove(q)
	}
	b.low -= q.low
	if q.low = 0; q.class.Keyed && q.waiting > 0 && 2*q.open <= share {
		q.low = 1
	}
	b.low += q.low
}

func (b *Backlog) wait(q *queue, count int) {
	b.waiting += count
	if q.class.Keyed {
		b.keyed += count
	}
}

func (b *Backlog) opened(q *queue, count int) {
	b.open += count
	b.openKeyed += q.kind() * count
}

// Due reports whether enough jobs with keys for one request may enter the window.
func (b *Backlog) Due(most int) bool {
	room := b.room(1)
	return len(b.ready[1]) > 0 && room > 0 && (b.low > 0 || room >= min(most, b.keyed))
}
