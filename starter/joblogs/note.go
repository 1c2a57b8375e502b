package joblogs

import "fmt"

func (p *Part) noted(files bool) Part {
	switch p.Gone {
	case GoneSilent:
		p.Note = p.Silent
	case GoneProcess:
		p.Note = fmt.Sprintf("OUTPUT_GONE: the process of worker %s that ran attempt %d has ended; its output is gone with its process", p.Worker, p.Attempt)
		if !files {
			p.Note += ": start the worker with --data-dir to keep outputs"
		}
	case GoneKept:
		p.Note = fmt.Sprintf("OUTPUT_GONE: worker %s keeps no output of attempt %d: none was printed, or it was pruned (output.keep, 1 GiB in all)", p.Worker, p.Attempt)
		if !files {
			p.Note = fmt.Sprintf("OUTPUT_GONE: worker %s has no data directory and forgot the output of attempt %d", p.Worker, p.Attempt)
		}
	case GoneNothing:
		p.Note = fmt.Sprintf("attempt %d printed nothing", p.Attempt)
	default:
		switch {
		case p.Worker == "":
			p.Note = fmt.Sprintf("it is %s and has not run on a worker", p.State)
		case p.From == FromNowhere:
			p.Note = "it has printed nothing yet on " + p.Worker
		}
	}
	return *p
}
