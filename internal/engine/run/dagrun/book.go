package dagrun

import (
	"encoding/binary"
	"fmt"

	"github.com/roundsman/roundsman/dag"
)

// maxErrorBytes bounds the kept messages: a run in which a hundred thousand tasks fail alike keeps the first ones.
const maxErrorBytes = 128 << 10

// book holds only exceptions, so a large run without failures has an empty one.
type book struct {
	attempts map[dag.Index]int
	// Worker of a task by 1 + its place in names.
	workers []uint16
	names   []string
	known   map[string]uint16
	errors  map[dag.Index]string
	bytes   int
	// warned are tasks whose last success had a warning, which is in errors.
	warned map[dag.Index]bool
	// taken has the tasks whose results were taken over, by who took them.
	taken      map[dag.Index]string
	takenBytes int
	// Tasks with a key that had succeeded and that an operator has executed again.
	rerun map[dag.Index]bool
	times map[dag.Index]span
	// created has the tasks that were added, in the order of their indexes.
	created []creation
}

func implied(s dag.State) int {
	if s == dag.Completed || s == dag.Failed {
		return 1
	}
	return 0
}

func (b *book) setWorker(i dag.Index, worker string, n int) {
	if worker == "" {
		return
	}
	for len(b.workers) < n {
		b.workers = append(b.workers, make([]uint16, n-len(b.workers))...)
	}
	b.workers[i] = b.number(worker)
}

func (b *book) setAttempts(i dag.Index, to dag.State, attempts int) {
	if attempts == implied(to) {
		delete(b.attempts, i)
		return
	}
	if b.attempts == nil {
		b.attempts = map[dag.Index]int{}
	}
	b.attempts[i] = attempts
}

// number is 0, which stands for none, once there are more names than fit.
func (b *book) number(worker string) uint16 {
	if n, ok := b.known[worker]; ok {
		return n
	}
	if len(b.names) >= 1<<16-2 {
		return 0
	}
	if b.known == nil {
		b.known = map[string]uint16{}
	}
	b.names = append(b.names, worker)
	n := uint16(len(b.names)) //nolint:gosec // bounded right here
	b.known[worker] = n
	return n
}

func (b *book) worker(i dag.Index) string {
	if int(i) >= len(b.workers) || b.workers[i] == 0 {
		return ""
	}
	return b.names[b.workers[i]-1]
}

func (b *book) fail(i dag.Index, message string) { b.note(i, message, maxErrorBytes) }

func (b *book) note(i dag.Index, message string, most int) {
	b.clear(i)
	message = clip(message)
	if b.bytes+len(message) > most {
		return
	}
	if b.errors == nil {
		b.errors = map[dag.Index]string{}
	}
	b.errors[i] = message
	b.bytes += len(message)
}

func (b *book) clear(i dag.Index) {
	b.bytes -= len(b.errors[i])
	delete(b.errors, i)
	delete(b.warned, i)
}

// reopen keeps the attempts of tasks that an operator brings back: their state no longer implies the number.
func (b *book) reopen(moves []dag.Transition) {
	for _, m := range moves {
		if m.From.Terminal() {
			if _, ok := b.attempts[m.Task]; !ok {
				b.setAttempts(m.Task, m.To, implied(m.From))
			}
		}
	}
}

func (b *book) encodeWorkers() []byte {
	var data []byte
	for i := 0; i < len(b.workers); {
		n := i + 1
		for n < len(b.workers) && b.workers[n] == b.workers[i] {
			n++
		}
		data = binary.AppendUvarint(data, uint64(b.workers[i]))
		data = binary.AppendUvarint(data, uint64(n-i)) //nolint:gosec // positive
		i = n
	}
	return data
}

func (b *book) decodeWorkers(data []byte, tasks int) error {
	for len(data) > 0 {
		number, size := binary.Uvarint(data)
		if size <= 0 || number > uint64(len(b.names)) {
			return fmt.Errorf("%w: its workers are malformed", ErrState)
		}
		count, more := binary.Uvarint(data[size:])
		if more <= 0 || count == 0 || count > uint64(tasks-len(b.workers)) { //nolint:gosec // never negative
			return fmt.Errorf("%w: its workers are malformed", ErrState)
		}
		for range count {
			b.workers = append(b.workers, uint16(number)) //nolint:gosec // bounded by the names
		}
		data = data[size+more:]
	}
	return nil
}
