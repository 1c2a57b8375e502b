package ui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/roundsman/roundsman/internal/engine/ref"
	"github.com/roundsman/roundsman/internal/lib/suggest"
	"github.com/roundsman/roundsman/starter"
	"github.com/roundsman/roundsman/starter/explainer"
	"github.com/roundsman/roundsman/starter/refs"
)

// suggestWithin bounds the search for a suggestion, because the error itself is complete.
const suggestWithin = 300 * time.Millisecond

// suggest adds a suggestion to each of joined errors, which stay apart for [Env.Finish].
func (*Program) suggest(ctx context.Context, client *starter.Client, err error) error {
	all := apart(err)
	for i, one := range all {
		all[i] = suggestOne(ctx, client, one)
	}
	return errors.Join(all...)
}

func suggestOne(ctx context.Context, client *starter.Client, err error) error {
	meant := ""
	if unknown, ok := errors.AsType[*explainer.UnknownThingError](err); ok {
		known := unknown.Known
		if unknown.Down == "" {
			known = append(known, namesOf(ctx, client, "run of DAG")...)
		}
		meant = likely(unknown.Name, known)
	} else if missing, ok := errors.AsType[*starter.NotFoundError](err); ok {
		name := strings.TrimPrefix(missing.Name, "group/")
		meant = likely(name, namesOf(ctx, client, missing.What))
	}
	if meant == "" {
		return err
	}
	return fmt.Errorf("%w; did you mean %s?", err, meant)
}

func namesOf(ctx context.Context, client *starter.Client, kind string) []string {
	ctx, cancel := context.WithTimeout(ctx, suggestWithin)
	defer cancel()
	kinds := map[string]ref.Kind{"job type": ref.JobType, "run": ref.JobType, "worker": ref.Worker, "run of DAG": ref.DAG}
	return refs.Of(client).Names(ctx, kinds[kind])
}

// likely returns nothing for a name that exists: then a part of the thing is missing.
func likely(word string, names []string) string {
	const begun = 3 // Fewer letters begin too much.
	if name := word[:max(0, strings.IndexAny(word+"@", "@/:"))]; slices.Contains(names, name) {
		return ""
	}
	if len(word) >= begun {
		longer := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasPrefix(name, word) })
		if len(longer) == 1 {
			return longer[0]
		}
	}
	return suggest.Word(word, names)
}
