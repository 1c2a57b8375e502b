package api

import "time"

// Listing holds the parameters of every list.
type Listing struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most so many"`
	Cursor string `query:"cursor" doc:"The next of the page before"`
}

// Page is the common part of a list's answer.
type Page struct {
	// Cursor of the next page; empty on the last page.
	Next string `json:"next,omitempty"`
	// Total counts the matches, if exact.
	Total int       `json:"total"`
	AsOf  time.Time `json:"as_of"`
}

// Cut returns one page of a list that is sorted by name.
func Cut[T any](call *Call, list string, in Listing, all []T, name func(T) string) ([]T, Page, error) {
	page := Page{Total: len(all), AsOf: time.Now().UTC()}
	after, err := call.api.cursors.Position(list, in.Cursor)
	if err != nil {
		return nil, page, err
	}
	kept := make([]T, 0, min(in.Limit, len(all)))
	for _, each := range all {
		if after != "" && name(each) <= after {
			continue
		}
		if len(kept) == in.Limit {
			page.Next = call.api.cursors.At(list, name(kept[len(kept)-1]))
			break
		}
		kept = append(kept, each)
	}
	return kept, page, nil
}
