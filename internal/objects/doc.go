// Package objects reads and writes objects of stores that speak S3, by their addresses:
// s3://bucket/key. Keys with slashes are folders and files.
//
// An object is pinned when a [View] sees it first: each later read is bound to its ETag, and an
// object that has changed is an error with its name. [Files] publishes: each file is one conditional
// write, so that of two writers of an object one loses, and nothing is overwritten.
//
// Endpoint, region and credentials come from the variables and files of AWS's tools and never from
// an address, which is part of outputs and messages: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL for
// another store than AWS, AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws, a web
// identity or the role of the machine. Without credentials requests are anonymous.
package objects
