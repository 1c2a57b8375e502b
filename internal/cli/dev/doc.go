// Package dev has the commands about processes (dev, server, worker).
package dev
