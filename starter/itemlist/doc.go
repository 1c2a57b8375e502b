// Package itemlist lists items of a run in any order, and finds items by number, id or dedupe key.
package itemlist
