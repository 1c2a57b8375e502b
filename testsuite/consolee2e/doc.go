// Package consolee2e drives the web console in a real browser against real processes.
// The tests themselves are in web/test, in the language of the browser's driver.
package consolee2e
