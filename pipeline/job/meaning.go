package job

// A Meaning is what the values of a column are, however they are stored.
type Meaning string

// The meanings of columns. Dates, and timestamps of old formats, do not state a zone.
const (
	MeansNumber    Meaning = "" // also that of sources that do not state it
	MeansBoolean   Meaning = "boolean"
	MeansDate      Meaning = "date"
	MeansTime      Meaning = "time"
	MeansUTC       Meaning = "time in UTC"
	MeansLocalTime Meaning = "local time"
	MeansText      Meaning = "text"
)

// String returns the meaning in words.
func (m Meaning) String() string {
	switch m {
	case MeansNumber:
		return "a number"
	case MeansText:
		return string(m)
	default:
		return "a " + string(m)
	}
}

// Valid reports whether it is one of these meanings.
func (m Meaning) Valid() bool {
	return m == MeansNumber || m == MeansBoolean || m == MeansTime || m == MeansText || m.isTime()
}

// With is the meaning of a column that has both in different files; false: it may not have both.
func (m Meaning) With(other Meaning) (Meaning, bool) {
	switch {
	case m == other:
		return m, true
	case m == MeansTime && other.isTime(), m == MeansBoolean && other == MeansNumber:
		return other, true
	case other == MeansTime && m.isTime(), m == MeansNumber && other == MeansBoolean:
		return m, true
	default:
		return "", false
	}
}

func (m Meaning) isTime() bool { return m == MeansDate || m == MeansUTC || m == MeansLocalTime }
