// Package inspect has the commands about the whole system (explain, audit, doctor, version).
package inspect
