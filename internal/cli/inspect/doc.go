// Package inspect has the commands about looking at the system as a whole (explain, audit, doctor, version).
package inspect
