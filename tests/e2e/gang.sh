#!/bin/sh
# A hundred nodes: what they, the supervisor and people ask of a store that bills each
# request, and which of them failed first. The agents are real in what they read and
# write (gang_ranks.c); their machines are records of the pretend cloud.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
RANKS=$(dirname "$(dirname "$GPUCLOUD_BIN")")/tests/e2e/gang-ranks
[ -x "$RANKS" ] || skip_all "there is no $RANKS"
start_fakecloud
control() { curl -sf "$FAKE_CONTROL/_control/$1"; }
export GPUCLOUD_STORE="s3://bucket/gang?endpoint=$FAKE_S3"
RUN_SECONDS=120
N=100

cat >gang.yaml <<Y
name: gang
num_nodes: $N
resources: {infra: fake}
run: train
Y
began=$(cut -d ' ' -f 1 /proc/uptime)
job=$(gpc submit -q -y -d gang.yaml)
timeout 240 "$RANKS" "$GPUCLOUD_STORE" "$job" 1 61 >ranks 2>&1 &
ranks=$!
run gpc wait "$job"
is "$rc" 1 "the first failing rank gives the status"
like "$err" "rank 61" "and is named"
wait "$ranks"
is $? 0 "the agents end well"
is "$(grep -c . ranks):$(tail -n 1 ranks | cut -d ' ' -f 2-)" "8:over $N" "all nodes came to their end"
is "$(grep -E ' (failed|told|stopped) ' ranks | cut -d ' ' -f 2- | paste -s -d,)" \
	"failed 61,told 61,stopped $((N - 1))" "rank 0 found it and the others stopped"

note "$(paste -s -d ' ' ranks), submitted $began"

# --- what people see --------------------------------------------------------------
COLUMNS=80 run gpc status "$job"
like "$out" "exit_code \(1, rank 61\)" "status names the rank"
like "$out" "^Rank 61, .*:" "and shows its last lines,"
like "$out" "^  out of patience" "all of them"
like "$out" "^ +$N +[A-Z]+ +fake .* 0-$((N - 1))\$" "nodes of a kind are one row"
is "$(printf '%s\n' "$out" | awk 'length > 80' | wc -l)" 0 "it fits 80 columns"
[ "$(printf '%s\n' "$out" | wc -l)" -lt 40 ]
ok $? "and a screen"
is "$(gpc status "$job" -o wide | grep -c ' fake ')" "$N" "wide shows each"
is "$(gpc status "$job" -o json | jq -c '[(.nodes | length), ([.nodes[].rank] | unique | length),
	.num_nodes, .exit_code]')" "[$N,$N,$N,1]" "the JSON is complete"
run gpc logs "$job"
is "$(printf '%s\n' "$out" | grep -o '^\[[0-9]*\]' | sort -u | paste -s -d ' ')" "[0] [61]" \
	"logs shows rank 0 and the one that failed"
like "$err" "$N ranks: .*--rank N.*--all-ranks" "and says so"
like "$(gpc logs "$job" --rank 5)" "^rank 5 is at" "one can be asked for"
is "$(gpc logs "$job" --all-ranks 2>&1 | grep -o '^\[[0-9]*\]' | sort -u | wc -l)" "$N" "or all"

# --- what it takes ------------------------------------------------------------------
control requests >requests.json
s3() { # OPERATION REGEX [AND]
	jq "[.requests[] | select(.operation == \"$1\" and ((.key // \"\") |
		test(\"$2\")) and (${3:-true}))] | length" requests.json
}
calls() { # OP: of the pretend cloud
	jq -s "[.[] | select(.op == \"$1\")] | length" "$XDG_STATE_HOME/gpucloud/fake/ledger"
}
is "$(calls create)" 1 "one call buys them"
is "$(s3 PutObject '/roll/' '.status == 200')" $((5 * N)) "a rank calls out five times"
is "$(s3 GetObject '/beats/000(0[1-9]|[1-9])')" 0 "nobody reads the beats of each"
[ "$(jq '[.requests[] | select(.operation == "GetObject") | .key // "" |
	select(endswith("/exit.json"))] | unique | length' requests.json)" -le 3 ]
ok $? "nor each one's words"
events=$(s3 PutObject '/events/' '.status == 200')
[ "$events" -lt $((N / 2)) ]
ok $? "the journal has few events: $events"
[ "$(s3 GetObject '/events/' '.status == 200')" -le $((events * (N + 20))) ]
ok $? "of which each node reads each at most once"
[ "$(calls list)" -lt "$N" ]
ok $? "the list of machines is asked for rarely: $(calls list)"

# --- they are given back ------------------------------------------------------------
run gpc release "$job"
is "$rc" 0 "release waits until none is left"
[ "$(calls destroy)" -lt $((N / 4)) ]
ok $? "few calls end them: $(calls destroy)"
is "$(gpc status "$job" -o json | jq -c '[.nodes[] | .state] | unique')" '["RELEASED"]' \
	"each is recorded as released"
is "$(gpc cost "$job" -o json | jq '[.. | .amount? // empty | tonumber] | add > 0')" true \
	"and what it cost adds up"
stop_fakecloud
finish
