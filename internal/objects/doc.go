// Package objects reads objects of stores that speak S3, and files of web servers over HTTP, by
// their addresses: s3://bucket/key, https://host/path. Keys with slashes are folders and files.
//
// An object is pinned when a [View] sees it first: each later read is bound to its ETag, and an
// object that has changed is an error with its name. Parts of an object are read in ranges, some
// ahead of their use ([Blob.Ahead]). Requests that fail for a reason that may pass are repeated.
//
// [Files] publishes to S3: each file is one conditional write, and a lease says who may write.
//
// Endpoint, region and credentials come from the variables and files of AWS's tools and never from
// an address, which is part of outputs and messages:
//
//	AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL    of another store than AWS
//	AWS_REGION, AWS_DEFAULT_REGION           us-east-1 without one
//	AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
//	AWS_PROFILE, AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE, ~/.aws
//	AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN, AWS_CONTAINER_CREDENTIALS_*
//	the role of the machine, on AWS, unless AWS_EC2_METADATA_DISABLED is true
//
// Without credentials requests are anonymous, as public data need them.
package objects
