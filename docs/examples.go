package docs

// Examples has an example for each section of a job file for which users may write a word or a
// number by mistake.
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
