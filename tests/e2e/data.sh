#!/bin/sh
# `gpucloud data` over stand-ins of S3, OSS and Cloud Storage: every direction, names that
# make trouble, sync, parts of a data set, lists. What goes wrong is in data_faults.sh.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/data/lib.sh
. "$ROOT/tests/e2e/data/lib.sh"
start_fake

# --- every direction -------------------------------------------------------------
nasty_tree tree
make_file tree/large 12
n_files=$(find tree -type f -printf x | wc -c)
for to in s3 oss gs; do
	run gpc data cp -r tree "$(url $to t)"
	is "$rc" 0 "cp -r to $to" || note "$err"
	is "$(count $to t/)" "$n_files" "all files are in $to"
	is "$out" "" "stdout stays empty"
	like "$err" "gpucloud: $n_files files, 12 MiB in " "stderr has the sum"
	mkdir "from-$to"
	run gpc data cp -r "$(url $to t)" "from-$to"
	is "$rc" 0 "cp -r from $to" || note "$err"
	check "what comes from $to is what went there" same_tree tree "from-$to"
done
run gpc data cp -r "$(url s3 t/)" "$(url oss u/)"
is "$rc" 0 "cp -r from s3 to oss" || note "$err"
run gpc data cp -r "$(url oss u/)" "$(url gs u/)"
is "$rc" 0 "cp -r from oss to gs" || note "$err"
run gpc data cp -r "$(url gs u/)" "$(url s3 u/)"
is "$rc" 0 "cp -r from gs to s3" || note "$err"
run gpc data cp -r "$(url s3 u/)" around
is "$rc" 0 "and down from there" || note "$err"
check "nothing was changed on the way" same_tree tree around
is "$(find . -name pwned)" "" "nothing of a name was run"
is "$(uploads_open)" 0 "no upload is left open"

# --- one file ---------------------------------------------------------------------
echo one >one
run gpc data cp one "$(url s3 f/name)"
is "$rc $(keys s3 f/)" "0 name" "cp FILE URL: that very key" || note "$err"
run gpc data cp one "$(url s3 f/d/)"
is "$rc $(keys s3 f/d/)" "0 one" "cp FILE URL/: into it" || note "$err"
run gpc data cp one "s3://bucket?endpoint=$FAKE_S3"
is "$rc $(keys s3 one)" "0 " "cp FILE s3://BUCKET: into it" || note "$err"
run gpc data cp "$(url s3 f/name)" two
is "$rc $(cat two)" "0 one" "cp URL FILE: that very name" || note "$err"
mkdir into
run gpc data cp "$(url s3 f/name)" into
is "$rc $(cat into/name)" "0 one" "cp URL FOLDER: into it" || note "$err"
run gpc data cp "$(url s3 f/name)" new/folder/
is "$rc $(cat new/folder/name)" "0 one" "cp URL new/folder/: makes it" || note "$err"
run gpc data cp "$(url s3 f/name)" deep/er/file
is "$rc $(cat deep/er/file)" "0 one" "cp URL deep/er/file: makes the folders" || note "$err"
run gpc data cp one two "$(url s3 g/)"
is "$rc $(keys s3 g/ | tr '\n' ' ')" "0 one two " "cp A B URL/" || note "$err"
run gpc data cp -r one into "$(url s3 h/)"
is "$rc $(keys s3 h/ | tr '\n' ' ')" "0 into/name one " "of several each has its name" ||
	note "$err"
run gpc data cp "$(url s3 'f/name')" "file://$T/work/by%20url"
is "$rc $(cat 'by url')" "0 one" "file:///PATH" || note "$err"
run gpc data cp -r "$(url s3 f/name)" one-of-r
is "$rc $(cat one-of-r/name 2>/dev/null || cat one-of-r)" "0 one" \
	"-r of what is one object copies that" || note "$err"
: >empty
run gpc data cp empty "$(url gs e)"
run gpc data cp "$(url gs e)" empty2
is "$rc $(wc -c <empty2)" "0 0" "an empty file" || note "$err"

run gpc data cp tree "$(url s3 x)"
is "$rc" 2 "a folder needs -r"
like "$err" "is a folder" "which is said"
run gpc data cp "$(url s3 t)" x
is "$rc" 5 "a prefix is no object"
like "$err" "-r copies" "and the hint says how"
[ ! -e x ]
ok $? "nothing is made"
run gpc data cp one two "$(url s3 nofolder)"
is "$rc" 2 "several sources need a folder"
run gpc data cp one into/../one "$(url s3 x/)"
is "$rc" 8 "two of one name are refused"
run gpc data cp "$(url s3 f/name)" "$(url s3 f/name)"
is "$rc" 2 "nothing is copied onto itself"
run gpc data cp nosuch "$(url s3 x/)"
is "$rc" 5 "what is not there"
run gpc data cp -r "$(url s3 nothing/here)" x
is "$rc" 5 "a prefix with nothing below it"
like "$err" "nothing is there" "is said to be so"

# --- what a key may not do ----------------------------------------------------------
control POST objects '{"service": "s3", "bucket": "bucket", "prefix": "evil/../../out", "count": 1,
	"size": 3}' >/dev/null
control POST objects '{"service": "s3", "bucket": "bucket", "prefix": "evil//empty", "count": 1,
	"size": 3}' >/dev/null
control POST objects '{"service": "s3", "bucket": "bucket", "prefix": "evil/good", "count": 1,
	"size": 3}' >/dev/null
mkdir -p box/inner
run gpc data cp -r "$(url s3 evil/)" box/inner
is "$rc" 1 "keys that lead out fail, others do not"
is "$(find box -type f | wc -l) $(find box/inner -name 'good*' | wc -l)" "1 1" \
	"only what lies inside is written"
like "$err" "2 of 3 failed" "and how many failed"

control POST objects '{"service": "s3", "bucket": "bucket", "size": 0, "keys": ["odd/made/", "odd/x",
	"odd/d/.gpucloud-part-0123456789abcdef"]}' >/dev/null
run gpc data cp -r "$(url s3 odd/)" odd
is "$rc $(all_files odd)" "0 ./x" "folders made by hand and unfinished downloads are passed over" ||
	note "$err"
: >odd/.gpucloud-part-0123456789abcdef
run gpc data sync odd "$(url s3 odd2)"
is "$rc $(keys s3 odd2/)" "0 x" "on this machine too" || note "$err"
rm odd/.gpucloud-part-0123456789abcdef
control POST objects '{"service": "s3", "bucket": "bucket", "size": 3, "keys": ["odd/bytes/"]}' >/dev/null
run gpc data cp -r "$(url s3 odd/)" odd
is "$rc" 1 "a folder that has bytes is not" || note "$err"
like "$err" "odd/bytes/: .*it has bytes" "and is named"

# --- sync ----------------------------------------------------------------------------
mkdir src
for i in 1 2 3 4 5; do echo "file $i" >src/$i; done
mkdir src/sub
echo sub >src/sub/a
run gpc data sync src "$(url oss s)" -n
is "$rc" 0 "sync --dry-run" || note "$err"
is "$(printf '%s\n' "$out" | sort | head -n 2)" "copy src/1 to oss://bucket/s/1
copy src/2 to oss://bucket/s/2" "says what it would do"
is "$(count oss s/)" 0 "and does nothing"
run gpc data sync src "$(url oss s)"
is "$rc $(count oss s/)" "0 6" "sync" || note "$err"
mark
run gpc data sync src "$(url oss s)"
is "$rc $(asked '.operation != "ListObjectsV2"')" "0 0" "again: one list, nothing is sent"
like "$err" "nothing to do" "which is said"
echo longer than before >src/2
touch -d '+1 hour' src/3
rm src/4
run gpc data sync src "$(url oss s)" -o name
is "$out" "oss://bucket/s/2
oss://bucket/s/3" "what has changed in size or time is copied again"
is "$(keys oss s/ | tr '\n' ' ')" "1 2 3 4 5 sub/a " "without --delete all stays"
run gpc data sync src "$(url oss s)" --delete -n
is "$(printf '%s\n' "$out" | grep delete)" "delete oss://bucket/s/4" "--delete --dry-run"
run gpc data sync src "$(url oss s)" --delete --exclude 4
is "$rc $(count oss s/)" "0 6" "what is left out is not deleted"
run gpc data sync src "$(url oss s)" --delete --json
is "$(printf '%s\n' "$out" | jq -r 'select(.type == "removed").to')" "oss://bucket/s/4" \
	"--delete --json"
is "$rc $(keys oss s/ | tr '\n' ' ')" "0 1 2 3 5 sub/a " "deletes what is gone"

run gpc data sync "$(url oss s)" got
is "$rc" 0 "sync to here" || note "$err"
run gpc data sync "$(url oss s)" got
like "$err" "nothing to do" "times are those of the objects"
echo 'file x' >got/1
touch -d 2001-02-03 got/1 # surely another second
run gpc data sync "$(url oss s)" got -o name
is "$out $(cat got/1)" "got/1 file 1" "what was changed here comes anew"
mkdir got/more elsewhere
echo more >got/more/x
echo mine >elsewhere/y
ln -s ../elsewhere got/link
run gpc data sync "$(url oss s)" got --delete
is "$rc $(all_files got | tr '\n' ' ')" "0 ./1 ./2 ./3 ./5 ./link ./sub/a " \
	"--delete here" || note "$err"
is "$(cat elsewhere/y)" mine "but not behind a link"
rm got/link

run gpc data ls "$(url s3 'no*such')"
is "$rc" 5 "a pattern is no key" || note "$err"
like "$err" "hint: . is a plain character of a key" "which is said"

mkdir nothing
run gpc data sync nothing "$(url oss s)" --delete
is "$rc" 2 "an empty source deletes nothing"
like "$err" "5 objects" "and says how much would go"
is "$(count oss s/)" 5 "all of it is there"
run gpc data sync nosuch "$(url oss s)" --delete -y
is "$rc $(count oss s/)" "5 5" "nor does one that is not there"
ln -s gone src/broken
run gpc data sync src "$(url oss s)" --delete --exclude 5
is "$rc $(count oss s/)" "1 5" "nor one that cannot be read whole"
like "$err" "src/broken: a link that leads nowhere" "which is named"
rm src/broken
run gpc data sync nothing "$(url oss s)" --delete -y
is "$rc $(count oss s/)" "0 0" "with -y it does" || note "$err"
control POST objects '{"service": "s3", "bucket": "bucket", "prefix": "many/", "count": 2500}' >/dev/null
run gpc data sync nothing "$(url s3 many)" --delete -y
is "$rc $(count s3 many/)" "0 0" "more than one request deletes" || note "$err"
like "$err" "2500 deleted" "and all are counted"

run gpc data sync tree "$(url s3 pat)" --exclude '*' --include 'sub*' --exclude er/
is "$(keys s3 pat/ | tr '\n' ' ')" "sub-x sub.y sub0 " "the last pattern decides"
run gpc data sync "$(url s3 t)" part --include nothing --exclude '/*' --include '/sub/'
is "$(all_files part)" "./sub/deep/er/file" "also for what comes from a bucket"
run gpc data sync "$(url s3 t)" "$(url s3 t/inside)"
is "$rc" 2 "a target in its source is refused"

# --- parts -----------------------------------------------------------------------------
mkdir -p set
for i in $(seq 40); do head -c $((i * i * 100)) /dev/zero >"set/$i"; done
gpc data cp -q -r set "$(url gs set)"
for i in 0 1 2; do
	run gpc data cp -r "$(url gs set)" all --shard $i/3 -o name
	is "$rc" 0 "part $i of 3" || note "$err"
	printf '%s\n' "$out" >part-$i
	mkdir one-$i
	GPUCLOUD_NODE_RANK=$i GPUCLOUD_NUM_NODES=3 "$GPUCLOUD_BIN" data sync -q \
		"$(url gs set)" one-$i --shard rank
	is "$(all_files "one-$i" | sed s:./::)" "$(sed 's|.*/||' part-$i | sort)" "sync --shard rank is the same"
done
check "together they are everything" same_tree set all
is "$(cat part-? | sort | uniq -d)" "" "no file is in two parts"
is "$(for i in 0 1 2; do cat one-$i/* | wc -c; done |
	awk '!n++ || $1 < l { l = $1 } $1 > m { m = $1 } END { print(m - l < 20000) }')" 1 \
	"they are of one size" || note "$(du -sb one-?)"
run gpc data cp -r "$(url gs set)" all --shard 3/3
is "$rc" 2 "there is no part 3 of 3"
run gpc data sync "$(url gs set)" all --shard 0/3 --delete
is "$rc" 2 "--shard does not delete"
run gpc data cp one "$(url gs x/)" --shard 0/3
is "$rc" 2 "one file has no parts"

# --- on this machine -------------------------------------------------------------------
# names, times, permissions and sizes
looks() { (cd "$1" && find . -type f -printf '%P %m %Ts %s\n' | sort); }
chmod 755 tree/-dash
run gpc data cp -r tree "file://$T/work/mine/of%20it"
is "$rc" 0 "cp -r here" || note "$err"
check "is the same" same_tree tree "mine/of it"
is "$(looks "mine/of it")" "$(looks tree)" "with times and permissions"
run gpc data sync "file://$T/work/tree" "mine/of it" --json
is "$rc $(printf '%s\n' "$out" | jq -r .files)" "0 0" "sync finds nothing to do" || note "$out $err"
run gpc data cp one mine/named
is "$rc $(cat mine/named)" "0 one" "cp FILE FILE" || note "$err"
run gpc data cp one two new-here/
is "$rc $(cat new-here/one new-here/two)" "0 one
one" "cp FILE FILE FOLDER/" || note "$err"
run gpc data cp -r one into mine
is "$rc $(cat mine/one mine/into/name)" "0 one
one" "of several each has its name" || note "$err"
mkdir -p kept
for i in a b c; do echo "file $i" >"kept/$i"; done
ln -s ../kept/c kept/link
mkfifo kept/fifo
run gpc data sync kept copy -n
is "$rc $(printf '%s\n' "$out" | head -n 1)" "0 copy kept/a to copy/a" "sync -n here says what it would do"
[ ! -e copy ]
ok $? "and does nothing"
run gpc data sync kept copy --exclude b
is "$rc $(all_files copy | tr '\n' ' ')" "0 ./a ./c ./link " "sync --exclude" || note "$err"
is "$(readlink copy/link; cat copy/link)" "file c" "a link becomes what it leads to"
like "$err" "kept/fifo is passed over" "what is no file is passed over"
echo longer than before >kept/a
touch -d '-1 hour' kept/c
rm kept/link
echo more >copy/more
run gpc data sync kept copy --delete -o name
is "$rc $(printf '%s\n' "$out" | tr '\n' ' ')" "0 copy/a copy/b copy/c copy/link copy/more " \
	"sync --delete copies what has changed and deletes what is gone" || note "$err"
is "$(looks copy)" "$(looks kept)" "now both are the same"
for i in 0 1; do run gpc data cp -r set halves --shard $i/2 -o name; done
check "two halves are the whole" same_tree set halves
ln -s kept also-kept
for pair in "kept kept/in/it" "kept kept" "kept also-kept" "also-kept/. kept" "kept ." "mine mine/of"; do
	# shellcheck disable=SC2086  # two words
	run gpc data cp -r $pair
	is "$rc" 2 "cp -r $pair is refused"
	# shellcheck disable=SC2086
	run gpc data sync $pair --delete -y
	is "$rc" 2 "sync $pair is refused"
	like "$err" "one lies in the other" "as what it is"
done
is "$(looks copy)" "$(looks kept)" "all is as it was"
run gpc data cp kept/a also-kept/a
is "$rc $(cat kept/a)" "2 longer than before" "a file is not copied onto itself"
run gpc data cp -r into/.. two elsewhere/
is "$rc" 2 "what has no name of its own needs one"
run gpc data cp one mine/named/x
is "$rc" 8 "below a file is no place" || note "$err"
is "$(find . -name '.gpucloud-part-*')" "" "no temporary is left"

# --- pipes -----------------------------------------------------------------------------
for to in s3 oss gs; do
	run sh -c "printf 'some text' | '$GPUCLOUD_BIN' data cp - '$(url $to pipe)'"
	is "$rc $(gpc data cp -q "$(url $to pipe)" -)" "0 some text" "a pipe into $to and out of it" ||
		note "$err"
	run sh -c "cat tree/large tree/large tree/large |
		'$GPUCLOUD_BIN' data cp - '$(url $to pipe-large)'"
	is "$rc" 0 "a large one into $to" || note "$err"
	like "$err" "gpucloud: 1 file, 36 MiB in" "whose size is told at the end"
	gpc data cp -q "$(url $to pipe-large)" - >piped
	is "$(sha256sum <piped)" "$(cat tree/large tree/large tree/large | sha256sum)" "comes out whole"
done
run sh -c ": | '$GPUCLOUD_BIN' data cp - '$(url s3 pipe-empty)'"
is "$rc $(keys s3 pipe-empty)" "0 " "an empty pipe"
run sh -c "'$GPUCLOUD_BIN' data cp '$(url s3 pipe-large)' - | head -c 9"
is "$(printf '%s' "$out" | wc -c) $err" "9 " "a reader that has enough ends it without a word"
run gpc data cp - "$(url s3 folder/)"
is "$rc" 2 "a pipe has no name for a folder"
run gpc data cp - -
is "$rc" 2 "a pipe to a pipe is refused"

# --- classes ---------------------------------------------------------------------------
run gpc data cp one "$(url s3 cold)" --storage-class STANDARD_IA
is "$rc $(gpc data ls --json "$(url s3 cold)" | jq -r .storage_class)" "0 STANDARD_IA" \
	"--storage-class" || note "$err"
run gpc data cp "$(url s3 cold)" here --storage-class STANDARD_IA
is "$rc" 2 "a file has no storage class"

# --- a bucket in the host's name -------------------------------------------------------
# Which signatures cover; a name with dots is part of the path unless it is asked for,
# because no certificate fits. curl knows by itself where *.localhost is.
control POST buckets '{"name": "dotted.name"}' >/dev/null
for way in bucket:virtual dotted.name:virtual dotted.name:path; do
	host="http://s3.us-east-1.localhost:${FAKE_S3##*:}"
	at="s3://${way%:*}/by host/+%?endpoint=$host&addressing=${way#*:}"
	run gpc data cp one "$at"
	is "$rc" 0 "into $way" || note "$err"
	run gpc data cp "$at" -
	is "$rc $out" "0 one" "and back" || note "$err"
done

# --- lists -----------------------------------------------------------------------------
run gpc data ls "$(url s3 h/)"
like "$out" "^MODIFIED +SIZE +NAME$" "ls has a heading"
like "$out" "^- +- +into/$" "folders"
like "$out" "^20[0-9]{2}-[0-9]{2}-[0-9]{2} [0-9:]{8} +4 B +one$" "and objects"
like "$err" "1 object, 4 B, 1 folder$" "and a sum"
run gpc data ls "$(url s3 h)" -o name
is "$out" "into/
one" "ls of a folder without its /"
run gpc data ls "$(url s3 h/one)" --json
is "$(printf '%s\n' "$out" | jq -c '[.schema, .name, .url, .size_bytes, .folder]')" \
	'["gpucloud.object/1","one","s3://bucket/h/one",4,false]' "ls of one object"
run gpc data ls "$(url s3 h)" -r -o csv
is "$(printf '%s\n' "$out" | sed 1d | cut -d, -f3)" "into/name
one" "ls -r"
for to in s3 oss gs; do
	run gpc data ls -r "$(url $to t/)" --json
	is "$(printf '%s\n' "$out" | jq -r '.name, .size_bytes' | sort | sha256sum)" \
		"$(find tree -type f -printf '%P\n%s\n' | sort | sha256sum)" \
		"ls of $to has every name and size"
done
run gpc data ls "$(url s3 t/)"
unlike "$out" "$(printf '\033')" "names are made harmless"
for word in nothing/ nothing; do
	run gpc data ls "$(url s3 $word)"
	is "$rc" 5 "ls of $word"
	like "$err" "nothing is there" "says so"
done
run gpc data cp "$(url s3 nothing)" x
is "$rc" 5 "cp of nothing"
like "$err" "s3://bucket/nothing: nothing is there \(request [0-9A-Z]+\)" "says so"
run gpc data ls into
like "$out" "4 B +name" "ls of a folder here"
run gpc data ls tree -r -o name
is "$(printf '%s\n' "$out" | grep -c sub)" 4 "and of all that is in it"
n_many=${GPUCLOUD_TEST_LONG:+100000}
n_many=${n_many:-12000}
control POST objects "{\"service\": \"s3\", \"bucket\": \"bucket\", \"prefix\": \"mass/\", \"count\":
	$n_many, \"size\": 1}" >/dev/null
run gpc data ls -r "$(url s3 mass/)" -o name
is "$rc $(printf '%s\n' "$out" | sort -u | wc -l)" "0 $n_many" "a list of $n_many"
like "$(gpc data ls "$(url s3 mass/)" 2>&1 >/dev/null)" "$n_many objects" "whose sum is right"
stop_fakecloud
finish
