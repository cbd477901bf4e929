#!/bin/sh
# gpucloud check: each place of each chain of credentials, against services that
# verify signatures and tokens; what is not set up, what has ended and what is
# refused; and a store that may be read, written, and keep a journal, or not.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

command -v openssl >/dev/null || skip_all "no openssl"
sh "$ROOT/tests/servers/fakecloud.sh" start "$T/cloud" || skip_all "no stand-in"
. "$T/cloud/env"
NODE=acs:ram::1234567890123456:role/node
ASSUMED=acs:ram::1234567890123456:assumed-role/node
GOOGLE_NODE=node@fake-project.iam.gserviceaccount.com
TESTER=tester@fake-project.iam.gserviceaccount.com
CLOSED=127.0.0.1:1
unset GPUCLOUD_STORE ACCESS_KEY_ID ACCESS_KEY_SECRET SECURITY_TOKEN
# What the machine that runs this has set up itself stays out.
for name in $(env | sed -n 's/^\(\(AWS\|ALIBABA_CLOUD\|ALIBABACLOUD\|ALICLOUD\|OSS\|GOOGLE\|GCE\|CLOUDSDK\|ACTIONS\|GITHUB\|GITLAB\)_[A-Z0-9_]*\)=.*/\1/p'); do
	unset "$name"
done
export AWS_EC2_METADATA_DISABLED=true ALIBABA_CLOUD_ECS_METADATA_DISABLED=true \
	GCE_METADATA_HOST=$CLOSED GCE_METADATA_DETECT_RETRIES=1 \
	AWS_ENDPOINT_URL_STS="$FAKE_STS" AWS_ENDPOINT_URL_EC2="$FAKE_EC2" \
	AWS_ENDPOINT_URL_IAM="$FAKE_IAM" AWS_ENDPOINT_URL_SSM="$FAKE_SSM" \
	AWS_ENDPOINT_URL_SERVICE_QUOTAS="$FAKE_SERVICEQUOTAS" ALIBABA_CLOUD_STS_ENDPOINT="$FAKE_ALIBABA_STS" \
	ALIBABA_CLOUD_ECS_METADATA_SERVICE_ENDPOINT="$FAKE_ECS_METADATA" \
	ALIBABA_CLOUD_OAUTH_ENDPOINT="$FAKE_ALIBABA_LOGIN" \
	CLOUDSDK_API_ENDPOINT_OVERRIDES_OAUTH2="$FAKE_OAUTH2"
AK="ALIBABA_CLOUD_ACCESS_KEY_ID=$OSS_ACCESS_KEY_ID"
SK="ALIBABA_CLOUD_ACCESS_KEY_SECRET=$OSS_ACCESS_KEY_SECRET"
AWS_AK="AWS_ACCESS_KEY_ID=$AWS_ACCESS_KEY_ID"
AWS_SK="AWS_SECRET_ACCESS_KEY=$AWS_SECRET_ACCESS_KEY"
OSS_AK="OSS_ACCESS_KEY_ID=$OSS_ACCESS_KEY_ID"
OSS_SK="OSS_ACCESS_KEY_SECRET=$OSS_ACCESS_KEY_SECRET"
SECRETS="$AWS_SECRET_ACCESS_KEY $OSS_ACCESS_KEY_SECRET"
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_REGION OSS_ACCESS_KEY_ID \
	OSS_ACCESS_KEY_SECRET

control() { # PATH JSON
	curl -sS --noproxy '*' -d "$2" "$FAKE_CONTROL/_control/$1" >/dev/null
}

# look PROVIDER [VARIABLE=VALUE…]
look() {
	look_at=$1
	shift
	run env "$@" "$GPUCLOUD_BIN" check "$look_at" --json
	for secret in $SECRETS; do
		case "$out$err" in *"$secret"*) ok 1 "no secret is shown" ;; esac
	done
}

# who NAME IDENTITY SOURCE PROVIDER [VARIABLE=VALUE…]
who() {
	who_name=$1
	who_want=$2
	who_from=$3
	shift 3
	look "$@"
	is "$rc $(printf %s "$out" | jq -r '.rows[0] | .state + " " + (.identity // "-")')" \
		"0 ok $who_want" "$who_name" || note "$err"
	printf %s "$out" | jq -r '.rows[0].source' | grep -qF -- "$who_from"
	ok $? "$who_name: says where it is from" || note "$out"
}

# fails NAME STATUS TEXT PROVIDER [VARIABLE=VALUE…]
fails() {
	fails_name=$1
	fails_status=$2
	fails_text=$3
	shift 3
	look "$@"
	is "$rc" "$fails_status" "$fails_name: exits with $fails_status"
	like "$err" "$fails_text" "$fails_name: says so"
}

# --- nothing is set up ---
run gpc check
is "$rc" 0 "clouds that nobody set up are no failure" || note "$err"
is "$(printf '%s\n' "$out" | grep -c 'not set up')" 4 "they are shown"
like "$err" "gpucloud check store. says how" "and where to go on"
run gpc check -o name
is "$out" "local
store
aws
alibaba
gcp" "everything is looked at"
for cloud in aws alibaba gcp; do
	fails "$cloud that was named" 4 "no credentials for" $cloud
	like "$err" "hint: run (aws configure|aliyun configure|gcloud auth)" "$cloud: what to run"
done
run env GPUCLOUD_JOB_ID=job-aaaaaa "$GPUCLOUD_BIN" data ls s3://bucket
is "$rc" 4 "a job has no credentials for its data" || note "$err"
like "$err" "s3://bucket: no credentials.*" "the bucket is named"
like "$err" "hint: a job has no credentials but" "and what a job can do is said"
# --- what the configuration needs is a failure ---
mkdir -p "$XDG_CONFIG_HOME/gpucloud"
printf 'submit:\n  infra: gcp/us-central1\n' >"$XDG_CONFIG_HOME/gpucloud/config.yaml"
run gpc check
is "$rc" 4 "a cloud that submit.infra names must be set up"
like "$err" "gcp: .*config.yaml:2:3: submit.infra needs it: no credentials for Google" \
	"it says who needs it"
run env GPUCLOUD_SUBMIT_INFRA=local "$GPUCLOUD_BIN" check
is "$rc" 0 "another place is none of it" || note "$err"
printf 'ca_file: %s/nosuch.pem\n' "$PWD" >"$XDG_CONFIG_HOME/gpucloud/config.yaml"
run gpc check
is "$rc" 3 "certificates that are not there are found before a server is asked"
like "$err" "config.yaml:1:1: ca_file: cannot open .*/nosuch.pem" "they are named"
run env GPUCLOUD_CA_FILE=/dev/null "$GPUCLOUD_BIN" check local
is "$rc" 3 "so is a file without any"
like "$err" "GPUCLOUD_CA_FILE: ca_file: there is no certificate in it" "and where it was named"
rm "$XDG_CONFIG_HOME/gpucloud/config.yaml"
fails "a store that was not made" 5 "cannot open the store folder" store
is "$(ls "$XDG_DATA_HOME")" "" "looking makes nothing"

# --- AWS ---
who "AWS: keys" arn:aws:iam::123456789012:user/tester "environment" aws "$AWS_AK" "$AWS_SK"
is "$(printf %s "$out" | jq -r '.rows[0].account')" 123456789012 "AWS: the account"
fails "AWS: a wrong secret" 4 "STS answered 403 SignatureDoesNotMatch" aws "$AWS_AK" \
	AWS_SECRET_ACCESS_KEY=wrong
like "$err" "\(request [0-9A-F]+\)" "AWS: a wrong secret: by which request"
like "$err" "hint: the secret key does not belong" "AWS: a wrong secret: what helps"
printf web-identity-token >web
who "AWS: web identity" arn:aws:sts::123456789012:assumed-role/node/me "by web identity" aws \
	AWS_ROLE_ARN=arn:aws:iam::123456789012:role/node AWS_ROLE_SESSION_NAME=me \
	AWS_WEB_IDENTITY_TOKEN_FILE="$PWD/web" AWS_REGION=eu-central-1
is "$(printf %s "$out" | jq -r '.rows[0] | .region, (.expires_at | type)' | tr '\n' ' ')" \
	"eu-central-1 string " "AWS: region and end"

# --- Alibaba Cloud ---
who "Alibaba: keys" acs:ram::1234567890123456:user/tester "environment (ALIBABA_CLOUD_" \
	alibaba "$AK" "$SK"
who "Alibaba: keys of OSS" acs:ram::1234567890123456:user/tester "(OSS_ACCESS_KEY_ID)" \
	alibaba "$OSS_AK" "$OSS_SK"
fails "Alibaba: a wrong secret" 4 "SignatureDoesNotMatch" alibaba "$AK" \
	ALIBABA_CLOUD_ACCESS_KEY_SECRET=wrong
fails "Alibaba: an unknown key" 4 "InvalidAccessKeyId.NotFound" alibaba "$SK" \
	ALIBABA_CLOUD_ACCESS_KEY_ID=unknown
control settings '{"clock_offset": -7200}'
who "Alibaba: a clock that is off" acs:ram::1234567890123456:user/tester environment alibaba \
	"$AK" "$SK"
control settings '{"clock_offset": 0}'
control faults '{"service": "alibaba_sts", "operation": "GetCallerIdentity", "nth": 1,
	"do": "reset"}'
who "Alibaba: a lost answer" acs:ram::1234567890123456:user/tester environment alibaba "$AK" "$SK"
printf 'oidc-token\n' >oidc
OIDC="ALIBABA_CLOUD_ROLE_ARN=$NODE ALIBABA_CLOUD_ROLE_SESSION_NAME=pod
	ALIBABA_CLOUD_OIDC_PROVIDER_ARN=acs:ram::1234567890123456:oidc-provider/k8s"
# shellcheck disable=SC2086  # words
who "Alibaba: OIDC" $ASSUMED/pod "by OIDC (ALIBABA_CLOUD_OIDC_TOKEN_FILE)" alibaba $OIDC \
	ALIBABA_CLOUD_OIDC_TOKEN_FILE="$PWD/oidc"
# shellcheck disable=SC2086
who "Alibaba: GitHub" $ASSUMED/pod "by OIDC (GitHub Actions)" alibaba $OIDC GITHUB_ACTIONS=true \
	ACTIONS_ID_TOKEN_REQUEST_URL="$FAKE_GITHUB/token?x=1" \
	ACTIONS_ID_TOKEN_REQUEST_TOKEN=actions-request-token
# shellcheck disable=SC2086
who "Alibaba: GitLab" $ASSUMED/pod "by OIDC (GitLab)" alibaba $OIDC GITLAB_CI=true \
	GITLAB_OIDC_TOKEN=oidc-token
printf 'other\n' >oidc
# shellcheck disable=SC2086
fails "Alibaba: a token that is refused" 4 "AuthenticationFail.OIDCToken.Invalid" alibaba $OIDC \
	ALIBABA_CLOUD_OIDC_TOKEN_FILE="$PWD/oidc"
printf 'oidc-token\n' >oidc

mkdir -p "$HOME/.aliyun" "$HOME/.alibabacloud"
cat >external <<X
#!/bin/sh
echo '{"mode": "AK", "access_key_id": "${AK#*=}", "access_key_secret": "${SK#*=}"}'
X
chmod +x external
soon=$(($(date +%s) + 100))
jq -n --arg id "${AK#*=}" --arg secret "${SK#*=}" --arg role $NODE --arg work "$PWD" \
	--arg uri "$FAKE_CREDENTIALS_URI/x" --arg login "$FAKE_ALIBABA_LOGIN" --argjson soon $soon '
	{access_key_id: $id, access_key_secret: $secret} as $keys |
	{ram_role_arn: $role, ram_session_name: "me"} as $to |
	{cloud_sso_sign_in_url: ($login + "/start/login"), cloud_sso_account_id: "1",
		cloud_sso_access_config: "ac-1", access_token: "login-access-token"} as $sso |
	{current: "ak", other: 1, profiles: ([
	{name: "ak", mode: "AK", region_id: "cn-shanghai"} + $keys,
	{name: "role", mode: "RamRoleArn", expired_seconds: 900} + $keys + $to,
	{name: "chain", mode: "ChainableRamRoleArn", source_profile: "role"} + $to,
	{name: "circle", mode: "ChainableRamRoleArn", source_profile: "circle"} + $to,
	{name: "ecs", mode: "EcsRamRole", ram_role_name: ""},
	{name: "ecs-role", mode: "RamRoleArnWithRoleName", ram_role_name: "node"} + $to,
	{name: "oidc", mode: "OIDC", oidc_token_file: ($work + "/oidc"),
		oidc_provider_arn: "acs:ram::1234567890123456:oidc-provider/k8s"} + $to,
	{name: "external", mode: "external", process_command: "\"\($work)/external\""},
	{name: "uri", mode: "CredentialsURI", credentials_uri: $uri},
	{name: "sso", mode: "CloudSSO"} + $sso,
	{name: "sso-old", mode: "CloudSSO", cloud_sso_access_token_expire: 1} + $sso,
	{name: "oauth", mode: "OAuth", oauth_site_type: "INTL", kept: "yes",
		oauth_access_token: "old", oauth_access_token_expire: $soon,
		oauth_refresh_token: "login-refresh-token"},
	{name: "oauth-old", mode: "OAuth", oauth_access_token: "old",
		oauth_access_token_expire: 1, oauth_refresh_token: "used up"},
	{name: "sts-old", mode: "StsToken", sts_token: "t", sts_expiration: 1} + $keys,
	{name: "strange", mode: "RsaKeyPair"}
	])}' >"$HOME/.aliyun/config.json"
chmod 600 "$HOME/.aliyun/config.json"
profile() { # NAME IDENTITY PROFILE [VARIABLE=VALUE…]
	profile_name=$1
	profile_who=$2
	profile_is=$3
	shift 3
	who "Alibaba: $profile_name" "$profile_who" "profile $profile_is in ~/.aliyun/config.json" \
		alibaba "ALIBABA_CLOUD_PROFILE=$profile_is" "$@"
}
who "Alibaba: the current profile" acs:ram::1234567890123456:user/tester \
	"profile ak in ~/.aliyun/config.json" alibaba
is "$(printf %s "$out" | jq -r '.rows[0].region')" cn-shanghai "Alibaba: its region"
profile "a role" $ASSUMED/me role
profile "a role of a role" $ASSUMED/me chain
profile "a role of the instance" $ASSUMED/i-fake ecs ALIBABA_CLOUD_ECS_METADATA_DISABLED=false
profile "a role by that of the instance" $ASSUMED/me ecs-role \
	ALIBABA_CLOUD_ECS_METADATA_DISABLED=false
profile "OIDC of a profile" $ASSUMED/me oidc
profile "a program" acs:ram::1234567890123456:user/tester external
profile "a credentials URI" $ASSUMED/i-fake uri
profile "CloudSSO" $ASSUMED/i-fake sso
profile "OAuth, renewed" $ASSUMED/i-fake oauth
is "$(jq -r '[.profiles[] | select(.name == "oauth") | .kept, (.oauth_access_token == "old"),
	(.oauth_refresh_token | startswith("rotated-"))], .other | tostring' \
	"$HOME/.aliyun/config.json" | tr '\n' ' ')" '["yes",false,true] 1 ' \
	"Alibaba: what was renewed is written back, and nothing else changes"
is "$(stat -c %a "$HOME/.aliyun/config.json")" 600 "Alibaba: in a private file"
profile "OAuth, again" $ASSUMED/i-fake oauth
bad() { # NAME STATUS TEXT PROFILE [VARIABLE=VALUE…]
	bad_name=$1
	bad_status=$2
	bad_text=$3
	bad_profile=$4
	shift 4
	fails "Alibaba: $bad_name" "$bad_status" "$bad_text" alibaba \
		"ALIBABA_CLOUD_PROFILE=$bad_profile" "$@"
}
bad "a circle" 3 "leads in a circle: circle -> circle" circle
bad "CloudSSO that has ended" 4 "run: aliyun configure --mode CloudSSO --profile .?sso-old" sso-old
bad "OAuth that has ended" 4 "run: aliyun configure --mode OAuth --profile .?oauth-old" oauth-old
bad "a token that has ended" 4 "profile sts-old in ~/.aliyun/config.json have expired" sts-old
bad "a mode that is not known" 3 "RsaKeyPair, which gpucloud does not support" strange
like "$err" "hint: run: aliyun configure --mode OAuth --profile .?strange" "Alibaba: and what to do"
bad "a profile that is not there" 4 "there is no profile \"nosuch\"" nosuch
bad "a program that is forbidden" 4 "DISABLE_EXTERNAL_PROCESS forbids it" external \
	ALIBABA_CLOUD_DISABLE_EXTERNAL_PROCESS=1
bad "no role of the instance" 4 "ECS_METADATA_DISABLED is set" ecs
cat >"$HOME/.alibabacloud/credentials" <<X
[default]
type = ram_role_arn
access_key_id = ${AK#*=}
access_key_secret = ${SK#*=}
role_arn = $NODE
role_session_name = ini
[ecs]
type = ecs_ram_role
role_name = node
X
who "Alibaba: the ini file" $ASSUMED/ini "profile default (~/.alibabacloud/credentials:1)" \
	alibaba ALIBABA_CLOUD_CLI_PROFILE_DISABLED=true
for mode in hardened normal both; do
	control settings "{\"ecs_metadata\": \"$mode\"}"
	who "Alibaba: the ini file, $mode metadata" $ASSUMED/i-fake "profile ecs (" alibaba \
		ALIBABA_CLOUD_CLI_PROFILE_DISABLED=true ALIBABA_CLOUD_PROFILE=ecs \
		ALIBABA_CLOUD_ECS_METADATA_DISABLED=false
done
rm -r "$HOME/.aliyun" "$HOME/.alibabacloud"
who "Alibaba: keys without a family" acs:ram::1234567890123456:user/tester \
	"environment (ACCESS_KEY_ID)" alibaba "ACCESS_KEY_ID=${AK#*=}" "ACCESS_KEY_SECRET=${SK#*=}"
who "Alibaba: the instance" $ASSUMED/i-fake "instance metadata, role node" alibaba \
	ALIBABA_CLOUD_ECS_METADATA_DISABLED=false
is "$(printf %s "$out" | jq -r '.rows[0].region')" cn-hangzhou "Alibaba: the instance's region"
who "Alibaba: somebody else's ACCESS_KEY_ID" $ASSUMED/i-fake "instance metadata" alibaba \
	ALIBABA_CLOUD_ECS_METADATA_DISABLED=false ACCESS_KEY_ID=alone
control settings '{"ecs_metadata": "no-role"}'
# metadata gets a second, which memcheck may need for itself
[ -n "${GPUCLOUD_TEST_VALGRIND:-}" ] ||
	fails "Alibaba: an instance without a role" 4 "has no such role" alibaba \
		ALIBABA_CLOUD_ECS_METADATA_DISABLED=false
control settings '{"ecs_metadata": "both"}'
who "Alibaba: the last place" $ASSUMED/i-fake "credentials URI (ALIBABA" alibaba \
	ALIBABA_CLOUD_CREDENTIALS_URI="$FAKE_CREDENTIALS_URI/x"

# --- Google ---
openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out key.pem 2>/dev/null
openssl pkey -in key.pem -pubout -out public.pem
control accounts "$(jq -n --arg email $TESTER --rawfile key public.pem \
	'{email: $email, public_key: $key, key_id: "k1"}')"
ADC=$HOME/.config/gcloud/application_default_credentials.json
mkdir -p "$(dirname "$ADC")"
jq -n --arg email $TESTER --rawfile key key.pem --arg uri "$FAKE_OAUTH2/token" \
	'{type: "service_account", client_email: $email, private_key: $key, private_key_id: "k1",
	token_uri: $uri, project_id: "p1"}' >account.json
jq -n --arg uri "$FAKE_OAUTH2/token" '{type: "authorized_user", client_id: "client-id",
	client_secret: "client-secret", refresh_token: "refresh-token", token_uri: $uri,
	quota_project_id: "q1"}' >user.json
jq -n --arg url "$FAKE_GOOGLE_STS/v1/token" --arg file "$PWD/subject" '{type: "external_account",
	audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
	subject_token_type: "urn:ietf:params:oauth:token-type:jwt", token_url: $url,
	credential_source: {file: $file}}' >external.json
jq --arg url "$FAKE_IAMCREDENTIALS/v1/projects/-/serviceAccounts/$GOOGLE_NODE:generateAccessToken" \
	'. + {service_account_impersonation_url: $url}' external.json >federated.json
printf 'subject-token\n' >subject
google() { # NAME IDENTITY FROM FILE [VARIABLE=VALUE…]
	google_name=$1
	google_who=$2
	google_from=$3
	google_file=$4
	shift 4
	who "Google: $google_name" "$google_who" "$google_from" gcp \
		"GOOGLE_APPLICATION_CREDENTIALS=$PWD/$google_file" "$@"
}
refused() { # NAME STATUS TEXT FILE [VARIABLE=VALUE…]
	refused_name=$1
	refused_status=$2
	refused_text=$3
	refused_file=$4
	shift 4
	fails "Google: $refused_name" "$refused_status" "$refused_text" gcp \
		"GOOGLE_APPLICATION_CREDENTIALS=$PWD/$refused_file" "$@"
}
google "a service account" $TESTER "service account in" account.json
is "$(printf %s "$out" | jq -r '.rows[0].account')" p1 "Google: its project"
for off in 7200 -7200; do
	control settings "{\"clock_offset\": $off}"
	google "a clock that is ${off}s off" $TESTER "service account in" account.json
done
control settings '{"clock_offset": 0}'
google "a login" user@example.com "login of gcloud in" user.json
control settings '{"expires_text": true}'
google "an end that is text" user@example.com "(GOOGLE_APPLICATION_CREDENTIALS)" user.json
control settings '{"expires_text": false}'
google "a file of somebody else's token" - "workload identity in" external.json
google "and impersonation" $GOOGLE_NODE "workload identity in" federated.json
jq --arg url "$FAKE_GITHUB/token?x=1&audience=a" '.credential_source = {url: $url,
	headers: {Authorization: "bearer actions-request-token"},
	format: {type: "json", subject_token_field_name: "value"}}' federated.json >github.json
google "GitHub" $GOOGLE_NODE "workload identity in" github.json
cat >program <<'X'
#!/bin/sh
[ "$GOOGLE_EXTERNAL_ACCOUNT_INTERACTIVE" = 0 ] || exit 1
echo '{"version": 1, "success": true, "token_type": "urn:ietf:params:oauth:token-type:id_token",
	"id_token": "subject-token"}'
X
chmod +x program
jq --arg command "$PWD/program" '.credential_source = {executable: {command: $command}}' \
	federated.json >program.json
google "a program" $GOOGLE_NODE "workload identity in" program.json \
	GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1
refused "a program that nobody allowed" 4 "ALLOW_EXECUTABLES is not 1" program.json
jq '.subject_token_type = "urn:ietf:params:aws:token-type:aws4_request" |
	.credential_source = {environment_id: "aws1", regional_cred_verification_url:
	"https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15"}' \
	federated.json >aws.json
google "AWS keys" $GOOGLE_NODE "workload identity in" aws.json "$AWS_AK" "$AWS_SK" \
	AWS_REGION=eu-west-1
refused "AWS keys that are wrong" 4 "Received an error from AWS STS" aws.json "$AWS_AK" \
	AWS_SECRET_ACCESS_KEY=wrong AWS_REGION=eu-west-1
jq --arg imds "$FAKE_IMDS" '.credential_source += {
	region_url: ($imds + "/latest/meta-data/placement/availability-zone"),
	url: ($imds + "/latest/meta-data/iam/security-credentials"),
	imdsv2_session_token_url: ($imds + "/latest/api/token")}' aws.json >ec2.json
google "AWS keys of the instance" $GOOGLE_NODE "workload identity in" ec2.json
jq --arg url "$FAKE_IAMCREDENTIALS/v1/projects/-/serviceAccounts/$GOOGLE_NODE:generateAccessToken" \
	'{type: "impersonated_service_account", source_credentials: .,
	service_account_impersonation_url: $url}' user.json >impersonated.json
google "impersonation" $GOOGLE_NODE "impersonation in" impersonated.json
jq '.service_account_impersonation_url |= sub("node@"; "nobody@")' impersonated.json >denied.json
refused "impersonation that is denied" 4 "roles/iam.serviceAccountTokenCreator" denied.json
jq '.refresh_token = "used up"' user.json >stale.json
refused "a login that has ended" 4 "run: gcloud auth application-default login" stale.json
jq '.private_key_id = "k2"' account.json >unknown.json
refused "a key that is unknown" 4 "invalid_grant" unknown.json
refused "a file that is not there" 4 "there is no .*nosuch.json" nosuch.json
echo '{' >broken.json
refused "a broken file" 3 "is no JSON" broken.json
jq '.token_uri = "https://oauth2.googleapis.com.example.org/token"' user.json >away.json
refused "a token endpoint of somebody else" 3 "is not .*Google's: nothing is sent there" away.json
jq '.token_url = "http://sts.googleapis.com/v1/token"' external.json >clear.json
refused "a token endpoint without https" 3 "nothing is sent there" clear.json
jq '.credential_source.regional_cred_verification_url = "https://sts.example.org"' aws.json >sts.json
refused "an AWS endpoint of somebody else" 3 "this is not AWS's STS" sts.json "$AWS_AK" "$AWS_SK" \
	AWS_REGION=eu-west-1
cp user.json "$ADC"
who "Google: the file of gcloud" user@example.com "login of gcloud in ~/.config/gcloud/" gcp
rm "$ADC"
who "Google: the metadata server" $GOOGLE_NODE "the metadata server" gcp \
	GCE_METADATA_HOST="${FAKE_GCE_METADATA#http://}"
is "$(printf %s "$out" | jq -r '.rows[0] | .account, .region' | tr '\n' ' ')" \
	"fake-project us-central1 " "Google: its project and region"
control settings '{"gce_metadata": "no-account"}'
fails "Google: a machine without an account" 4 "has no instance/service-accounts" gcp \
	GCE_METADATA_HOST="${FAKE_GCE_METADATA#http://}"
control settings '{"gce_metadata": "on"}'

# --- the store ---
bucket() { # [VARIABLE=VALUE…]
	look store "$AWS_AK" "$AWS_SK" AWS_REGION=us-east-1 AWS_ENDPOINT_URL_S3="$FAKE_S3" \
		"GPUCLOUD_STORE=s3://bucket/x" "$@"
}
may() { printf %s "$out" | jq -r '.rows[0].may | join(" ")'; }
bucket
is "$rc $(may)" "0 write read list delete journal" "a store in a bucket" || note "$err"
for how in ignore refuse; do
	control settings "{\"conditions\": \"$how\"}"
	bucket
	is "$rc $(may)" "3 write read list delete" "conditions that a store would $how: no journal" ||
		note "$err"
	like "$err" "hint: .*journal=URL" "so no jobs, and what to do"
done
control settings '{"conditions": "honour"}'
is "$(curl -sS --noproxy '*' "$FAKE_CONTROL/_control/objects?sha256=0" | grep -c probe/)" 0 \
	"nothing is left behind"
bucket AWS_SECRET_ACCESS_KEY=wrong
is "$rc" 4 "a store that refuses us: 4"
lesser() { # ACTION…: a key that may do all but these
	control keys "$(jq -n '{cloud: "aws", id: "AKIALESSER", secret: "lesser", deny: $ARGS.positional}' \
		--args "$@")"
	bucket AWS_ACCESS_KEY_ID=AKIALESSER AWS_SECRET_ACCESS_KEY=lesser
}
lesser s3:PutObject s3:DeleteObject
is "$rc $(may)" "4 read list" "a key that may only read" || note "$err"
like "$err" "it cannot be written: .*s3:PutObject.* \(request [0-9A-F]+\)" "says what it may not"
lesser s3:PutObject s3:ListBucket
is "$rc $(may)" "4 " "S3 tells of nothing who may not list" || note "$err"
lesser s3:DeleteObject
is "$rc $(may)" "4 write read list" "one that may not delete" || note "$err"
left=$(curl -sS --noproxy '*' "$FAKE_CONTROL/_control/objects?sha256=0" |
	jq -r '.objects[].key | select(contains("/probe/")) | ltrimstr("x/")')
like "$err" "$left cannot be deleted again: .*s3:DeleteObject" "names what stays"
like "$err" "hint: .*until a check by somebody who may delete" "and how it goes"
bucket GPUCLOUD_STORE=s3://nosuch/x
is "$rc" 3 "a bucket that is not there: 3" || note "$err"
run env "$AWS_AK" AWS_SECRET_ACCESS_KEY=wrong AWS_ENDPOINT_URL_S3="$FAKE_S3" \
	GPUCLOUD_STORE=s3://bucket/x AWS_REGION=us-east-1 "$GPUCLOUD_BIN" check
is "$rc" 4 "so it is when everything is looked at"
is "$(printf '%s\n' "$out" | grep -c failed)" 2 "what fails is shown"
look store "$OSS_AK" "$OSS_SK" "OSS_ENDPOINT=$FAKE_OSS" ALIBABA_CLOUD_REGION_ID=cn-hangzhou \
	GPUCLOUD_STORE=oss://bucket/x
is "$rc $(may)" "0 write read list delete journal" "a store in OSS" || note "$err"
look store GCE_METADATA_HOST="${FAKE_GCE_METADATA#http://}" \
	"CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE=$FAKE_GCS" GPUCLOUD_STORE=gs://bucket/x
is "$rc $(may)" "0 write read list delete journal" "a store in Cloud Storage" || note "$err"
look store "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE=$FAKE_GCS" GPUCLOUD_STORE=gs://bucket/x
is "$rc" 4 "a store whose cloud was not set up: 4" || note "$err"
gpc submit -q -- true 2>/dev/null
look store
is "$rc $(may)" "0 write read list delete journal" "a store in a folder"
is "$(ls "$STORE/probe" 2>/dev/null)" "" "nothing is left in the folder"
mkdir -p "$STORE/probe"
touch -d '2 hours ago' "$STORE/probe/old"
touch "$STORE/probe/new"
look store
is "$(ls "$STORE/probe")" new "what an earlier one has left goes, not what is under way" || note "$err"
rm "$STORE/probe/new"

# --- whoever needs no credentials is not asked for any ---
run env AWS_ENDPOINT_URL_STS=http://$CLOSED "$GPUCLOUD_BIN" status
is "$rc" 0 "status of a local store asks nobody"
run gpc check aws local
is "$rc" 2 "one PROVIDER at most"

sh "$ROOT/tests/servers/fakecloud.sh" stop "$T/cloud"
finish
