package pipeline

import "context"

// RoleHash is the keyed hash that roles follow from.
func RoleHash(key string, ordinal int64) uint64 { return newRoleHasher(key).rank(ordinal).hash }

// ReferenceRows are the ordinals of the reference rows, ascending.
func (r Roles) ReferenceRows() []int64 { return r.reference }

// A Feed opens the feed of a job's train rows to tests of this folder.
type Feed struct{ f *feed }

// NewFeed surveys the source for its roles and scaling.
func NewFeed(ctx context.Context, src Source, job Job, res Resources) (Feed, error) {
	s, err := survey(ctx, src, job, res.Workers)
	if err != nil {
		return Feed{}, err
	}
	f, err := newFeed(ctx, src, s, res.WithDefaults())
	return Feed{f}, err
}

// Kept reports whether the rows are in memory.
func (f Feed) Kept() bool { return f.f.x != nil }

// Train is the number of train rows.
func (f Feed) Train() int64 { return f.f.roles.Train() }

// Full delivers one full pass.
func (f Feed) Full(ctx context.Context, use func(x, y []float64) error) error {
	return f.f.full(ctx, use)
}

// Shuffled reads on where so many rows have been taken.
func (f Feed) Shuffled(seed uint64, buffer int, taken int64) *Shuffled {
	return &Shuffled{&shuffled{feed: f.f, buffer: buffer, seed: seed, taken: taken}}
}

// Shuffled opens the shuffled reader.
type Shuffled struct{ r *shuffled }

// Take returns the next rows.
func (s *Shuffled) Take(ctx context.Context, n int) (x, y []float64, err error) {
	return s.r.take(ctx, n)
}

// Taken is the reader's place.
func (s *Shuffled) Taken() int64 { return s.r.taken }

// Close stops the reader.
func (s *Shuffled) Close() { s.r.close() }

// TargetsDigest is the digest of the multiset of values, added up in parts.
func TargetsDigest(parts ...[]float64) Digest {
	var sum multiset
	for _, part := range parts {
		var m multiset
		m.add(part)
		sum.merge(m)
	}
	return sum.digest()
}
