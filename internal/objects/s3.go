package objects

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
	"github.com/minio/minio-go/v7/pkg/signer"
)

// An account is where and as whom S3 is spoken.
type account struct {
	endpoint *url.URL // nil: AWS
	region   string
	chain    *credentials.Credentials
	client   *http.Client // for credentials

	mu        sync.Mutex
	anonymous bool // no credentials were found
}

// accountOf is the account of the environment.
func accountOf(env func(string) string) (*account, error) {
	a := &account{region: cmp.Or(env("AWS_REGION"), env("AWS_DEFAULT_REGION"), "us-east-1")}
	if text := cmp.Or(env("AWS_ENDPOINT_URL_S3"), env("AWS_ENDPOINT_URL")); text != "" {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || strings.Trim(u.Path, "/") != "" {
			return nil, errors.New("AWS_ENDPOINT_URL: want https://HOST or http://HOST:PORT, without a user, a path or a query")
		}
		a.endpoint = u
	}
	providers := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	elsewhere := env("AWS_WEB_IDENTITY_TOKEN_FILE") + env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") + env("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if elsewhere != "" || a.endpoint == nil && env("AWS_EC2_METADATA_DISABLED") != "true" {
		providers = append(providers, &credentials.IAM{})
	}
	a.chain, a.client = credentials.NewChainCredentials(providers), &http.Client{Transport: transport, Timeout: credentialsTime}
	return a, nil
}

// credentialsTime bounds a request for credentials. A machine outside AWS has nobody to answer.
const credentialsTime = 5 * time.Second

// environment is the environment of this process.
func environment() (*account, error) { return accountOf(os.Getenv) }

// request makes a signed request.
func (a *account) request(ctx context.Context, w call) (*http.Request, error) {
	bucket, key := bucketKey(w.address)
	u := url.URL{Scheme: "https", Host: "s3." + a.region + ".amazonaws.com", Path: "/" + bucket + "/" + key}
	switch {
	case a.endpoint != nil:
		u.Scheme, u.Host = a.endpoint.Scheme, a.endpoint.Host
	case !strings.Contains(bucket, "."): // the certificates of AWS have no names with dots
		u.Host, u.Path = bucket+"."+u.Host, "/"+key
	}
	u.RawPath, u.RawQuery = s3utils.EncodePath(u.Path), s3utils.QueryEncode(w.query)
	req, err := w.request(ctx, u.String())
	if err != nil {
		return nil, errors.New("it makes no address of the endpoint")
	}
	req.Header.Set("X-Amz-Content-Sha256", cmp.Or(w.body.sum, nothing))
	who, err := a.credentials(ctx)
	if err != nil {
		return nil, err
	}
	return signer.SignV4(*req, who.AccessKeyID, who.SecretAccessKey, who.SessionToken, a.region), nil
}

// credentials are those of the moment; none are looked for once there were none.
func (a *account) credentials(ctx context.Context) (credentials.Value, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.anonymous {
		return credentials.Value{}, nil
	}
	who, err := a.chain.GetWithContext(&credentials.CredContext{Client: a.client, Context: ctx})
	if err != nil { // which may quote a file of secrets
		return who, errors.New("the credentials cannot be read: look at AWS_* in the environment and at ~/.aws")
	}
	a.anonymous = who.AccessKeyID == "" && ctx.Err() == nil
	return who, ctx.Err()
}

// hint says what may help against a refusal.
func (a *account) hint(of *statusError) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case of.region != "" && of.region != a.region:
		return fmt.Sprintf(" (hint: AWS_REGION=%s)", of.region)
	case of.code == http.StatusForbidden && a.anonymous:
		return " (hint: no credentials were found in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws or the role of the machine)"
	case of.name == "ObjectParentIsFile":
		return " (hint: what should be a folder of the address is an object; choose another address, or remove it)"
	default:
		return ""
	}
}
