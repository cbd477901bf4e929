# shellcheck shell=sh disable=SC2034  # used by who includes it
# What the scripts about `gpucloud data` share: stand-ins of S3, OSS and Cloud Storage with
# credentials for them, URLs, and trees. Included after lib.sh; the service's working
# folder is "$T/fake".
unset GPUCLOUD_TEST_STORE GPUCLOUD_STORE AWS_PROFILE AWS_SESSION_TOKEN \
	STORAGE_EMULATOR_HOST GOOGLE_CLOUD_QUOTA_PROJECT GPUCLOUD_NODE_RANK \
	GPUCLOUD_NUM_NODES SKYPILOT_NODE_RANK SKYPILOT_NUM_NODES

start_fake() { # [OPTION…]
	start_fakecloud "$@"
	printf '{"type": "authorized_user", "client_id": "client-id", "client_secret":
		"client-secret", "refresh_token": "refresh-token", "token_uri": "%s/token"}' \
		"$FAKE_OAUTH2" >"$T/adc.json"
	export GOOGLE_APPLICATION_CREDENTIALS="$T/adc.json" \
		ALIBABA_CLOUD_ACCESS_KEY_ID="$OSS_ACCESS_KEY_ID" \
		ALIBABA_CLOUD_ACCESS_KEY_SECRET="$OSS_ACCESS_KEY_SECRET" \
		AWS_EC2_METADATA_DISABLED=true
}
control() { # METHOD PATH [JSON]
	curl -sf -X "$1" ${3:+-d "$3"} "$FAKE_CONTROL/_control/$2"
}
fault() { control POST faults "$1" >/dev/null; }
no_faults() { control DELETE faults >/dev/null; }
mark() { since=$(control GET 'requests?since=999999999' | jq .next); }
asked() { # JQ-CONDITION: how many such requests since the mark
	control GET "requests?since=$since" | jq "[.requests[] | select($1)] | length"
}
uploads_open() { control GET objects?sha256=0 | jq '.uploads | length'; }

url() { # s3|oss|gs KEY
	case $1 in
	s3) echo "s3://bucket/$2?endpoint=$FAKE_S3" ;;
	oss) echo "oss://bucket/$2?endpoint=$FAKE_OSS" ;;
	gs) echo "gs://bucket/$2?endpoint=$FAKE_GCS" ;;
	esac
}
keys_as() { # s3|oss|gs PREFIX JQ: what is below it
	case $1 in gs) k_service=gcs ;; *) k_service=$1 ;; esac
	control GET "objects?sha256=0&service=$k_service" | jq -r --arg p "$2" \
		"[.objects[].key | select(startswith(\$p)) | ltrimstr(\$p)] | $3"
}
keys() { keys_as "$1" "$2" 'sort | .[]'; }
count() { keys_as "$1" "$2" length; }

# Names that a file may have and that somebody might quote, split, encode or join.
nasty_tree() { # FOLDER
	/usr/bin/python3 - "$1" <<'X'
import os, sys
names = ["a b", "\u00e4\u4f60", "x?y", "x?region=a", "p%20q", "q'uote", 'dq"', "new\nline",
         "$(touch pwned)", "`id`", "back\\slash", "tab\there", "-dash", ".hidden", "&<>;|",
         "+plus", "#hash", "~tilde", "*", "[x]", "esc\033[31m", "sub/deep/er/file", "sub-x",
         "sub.y", "sub0", "a=b&c", "http://x", "trailing ", "@at,comma:colon", "%00", "%2F"]
for i, name in enumerate(names):
    path = os.path.join(sys.argv[1], name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write("%d %r\n" % (i, name) * i)
    os.utime(path, (1700000000 + i, 1700000000 + i))
X
}
# Text that is the same for the same seed, and like no other.
make_file() { # PATH MIB [SEED]
	/usr/bin/python3 -c 'import random, sys
r = random.Random(sys.argv[3])
with open(sys.argv[1], "wb") as file:
    for _ in range(int(sys.argv[2])): file.write(r.randbytes(1 << 20))' "$1" "$2" "${3:-x}"
}
# What lies there, whole and half: names and contents.
same_tree() { diff -r "$1" "$2" >"$T/diff" 2>&1 || { head -n 10 "$T/diff"; false; }; }
all_files() { (cd "$1" && find . ! -type d | sort); }
