// Package objects reads and writes objects in stores with the S3 protocol, by addresses like
// s3://bucket/key. A key with slashes is a path of folders and a file.
//
// A [View] pins each object when it first sees it: later reads are bound to that ETag, and if the
// object has changed they return an error with its name. [Files] publishes each file by one
// conditional write: of two writers of an object one fails, and no write is lost.
//
// Endpoint, region and credentials come from the variables and files of AWS's tools:
// AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL for other stores, AWS_REGION, AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY, ~/.aws, a web identity or the role of the machine. They never come from an
// address, because outputs show addresses. Without credentials requests are anonymous.
package objects
