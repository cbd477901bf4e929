# Takes out of a document what differs from run to run and from machine to
# machine: ids, times, durations, what this machine is.
def id: gsub("(?<n>[a-z][a-z0-9-]*)-(?!demand)[a-z2-7]{6}(?![a-z0-9])"; "\(.n)-ID");
def place: gsub($tmp; "TMP") | gsub("@" + $host; "@HOST");
def known: {
	cpus: 0, memory_bytes: 0, gpus: 0, gpu_memory_gb: 0,
	machine: "MACHINE", compiler: "COMPILER", version: "VERSION",
	system: "SYSTEM", owner: "OWNER", n: 0, sent_bytes: 0,
	pid: 0, host: "HOST", user: "USER", text: "TEXT", why_not: "WHY"
};
def plain:
	if type == "object" then
		# a job may end before anybody has seen it run
		(if has("resumed_from") then del(.running) else . end) |
		with_entries(
			if .key == "gpu" then .value = null
			elif .value == null then .
			elif .key | IN("spec", "metrics") then
				.value |= walk(if type == "string" then place else . end)
			elif (.key | IN(known | keys[])) and (.value | type) ==
				(known[.key] | type) then .value = known[.key]
			elif (.key | endswith("_ms")) and (.value | type) == "number"
			then .value = 0
			else .value |= plain end)
	elif type == "array" then map(plain)
	elif type == "string" then
		gsub("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z"; "TIME") |
		gsub("[0-9a-f]{64}"; "HASH") | gsub("[0-9a-f]{40}"; "COMMIT") |
		gsub("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"; "UUID") |
		place | id
	else . end;
plain |
if .schema == "gpucloud.prune/1" then
	.rows[] |= (.objects = 0 | .size_bytes = 0)
elif .schema == "gpucloud.check/1" then
	.rows[] |= if .name == "local" then .identity = "OWNER" else . end
else . end |
if has("metrics") then .metrics |= map_values(.at = "TIME") else . end
