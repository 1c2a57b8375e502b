// Package pluginpb is the control stream between a SeaweedFS admin and a `weed
// worker`, generated from plugin.proto.
package pluginpb
