package plan

// rack is a rack of a data center.
type rack struct{ dc, name string }

// place is the location of a replica.
type place struct {
	server string
	rack   rack
}

func placeOf(s Server) place { return place{s.Address, rack{s.DataCenter, s.Rack}} }

// xyz: x other data centers, y other racks and z other servers of the rack.
func fits(placement uint32, places []place) bool {
	if len(places) != Copies(placement) {
		return false
	}
	others, racks, same := int(placement/100%10), int(placement/10%10), int(placement%10)
	for _, main := range places {
		servers, inRack, inCenter := map[string]bool{}, 0, map[rack]int{}
		centers := map[string]int{}
		for _, p := range places {
			servers[p.server] = true
			centers[p.rack.dc]++
			switch {
			case p.rack == main.rack:
				inRack++
			case p.rack.dc == main.rack.dc:
				inCenter[p.rack]++
			}
		}
		if len(servers) == len(places) && len(centers) == others+1 && inRack == same+1 && len(inCenter) == racks && centers[main.rack.dc] == 1+racks+same {
			return true
		}
	}
	return false
}

// A replica may move within its rack even if the placement is not satisfied: nothing gets worse.
func keepsPlacement(placement uint32, from, to place, others []place) bool {
	for _, p := range others {
		if p.server == to.server {
			return false
		}
	}
	if from.rack == to.rack {
		return true
	}
	return fits(placement, append(append([]place{}, others...), to))
}
