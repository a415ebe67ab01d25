package docs

import (
	"regexp"
	"strings"
)

var (
	nameInTable = regexp.MustCompile("`([a-z_.\\[\\]]+)`")
	keyTable    = regexp.MustCompile("^\\| key(?: of `([a-z_.]+)`)? \\|")
	mdLink      = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// Meanings returns the meaning of each key of a kind of file, from the tables of its page.
func Meanings(kind string) map[string]string {
	page, err := pages.ReadFile("reference/" + kind + ".md")
	if err != nil {
		panic("docs: " + err.Error()) // pages are embedded
	}
	said := map[string]string{}
	section, inTable := "", false
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		head := keyTable.FindStringSubmatch(line)
		switch {
		case head != nil:
			section, inTable = head[1], true
			continue
		case !strings.HasPrefix(line, "| `"):
			inTable = inTable && strings.HasPrefix(line, "|--")
			continue
		case !inTable:
			continue
		}
		cells := strings.Split(strings.ReplaceAll(line, `\|`, "\x00"), " |")
		text := mdLink.ReplaceAllString(strings.Join(cells[2:len(cells)-1], " |"), "$1")
		text = strings.TrimSpace(strings.ReplaceAll(text, "\x00", "|"))
		if value := strings.TrimSpace(strings.TrimPrefix(cells[1], "|")); value != "" {
			text += ". Default: " + mdLink.ReplaceAllString(value, "$1")
		}
		above := ""
		for i, name := range nameInTable.FindAllStringSubmatch(cells[0], -1) {
			key := strings.TrimPrefix(strings.ReplaceAll(name[1], "[]", ""), ".")
			if at := strings.LastIndexByte(key, '.'); i == 0 && at > 0 {
				above = key[:at]
			} else if at < 0 {
				key = joined(above, key) // in the section of the first key
			}
			said[joined(section, key)] = text
		}
	}
	return said
}

func joined(section, key string) string { return strings.TrimPrefix(section+"."+key, ".") }
