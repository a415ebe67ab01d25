package job

// A Meaning says what the values of a column represent, whatever their stored type.
type Meaning string

// The meanings of columns. MeansTime and MeansDate have no time zone.
const (
	MeansNumber    Meaning = "" // also if the source does not state a meaning
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

// Valid reports whether m is one of the constants.
func (m Meaning) Valid() bool {
	return m == MeansNumber || m == MeansBoolean || m == MeansTime || m == MeansText || m.isTime()
}

// With returns the meaning of a column that has m in one file and other in another, or false if the two are not
// compatible.
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
