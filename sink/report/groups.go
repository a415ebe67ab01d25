package report

import "strconv"

// groupsPanel shows of each group the share of hold-out rows that are missed, and the bound for fresh
// ones. Groups of which nothing is said have no dots.
func (f Figure) groupsPanel() panel {
	var names []tick
	var lines []mark
	var missed, bound []xy
	last, most := len(f.Groups.Each)-1, 0.0
	for i, of := range f.Groups.Each {
		at := float64(last - i) // from above
		name := "others"
		if i < last {
			name = strconv.FormatFloat(f.Groups.Values[i], 'g', -1, 64)
		}
		if i < len(f.Groups.Texts) {
			name = f.Groups.Texts[i]
		}
		names = append(names, tick{at, name + " (" + strconv.FormatInt(of.N, 10) + " rows)"})
		if !(of.Bound < 1) {
			continue
		}
		k := xy{float64(of.Misses) / float64(of.N), at}
		b := xy{of.Bound, at}
		missed, bound, most = append(missed, k), append(bound, b), max(most, of.Bound)
		lines = append(lines, mark{color: faint, at: []xy{k, b}, width: 1.1})
	}
	return panel{
		title: "Missed, by groups of " + f.Groups.Column,
		x:     axis{label: "share of rows", hi: 1.1 * most, ticks: ticks(5, 0, 1.1*most), grid: true},
		y:     axis{lo: -0.5, hi: float64(last) + 1.2, ticks: names},
		marks: append(lines,
			mark{name: "fresh rows, at most", color: green, at: bound, radius: 3.2},
			mark{name: "hold-out rows", color: blue, at: missed, radius: 2.4}),
	}
}
