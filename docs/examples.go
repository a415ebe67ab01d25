package docs

// Examples has a value for each section of a job file that is sometimes given a word or a number in
// its position.
var Examples = map[string]string{
	"source":   "{paths: lake/}",
	"encode":   "{carrier: one-hot, hour: {cyclic: 24}}",
	"fill":     "{wind: median}",
	"loss":     "{epsilon: 0.5}",
	"split":    "{holdout: 10 %}",
	"rejected": "{limit: 0.1 %}",
	"train":    "{passes: 4}",
	"kafka":    "{brokers: [localhost:9092]}",
	"publish":  "{kafka: {name: model}}",
	"stream":   "{group: shared}",
	"serve":    "{listen: localhost:8080}",
}
