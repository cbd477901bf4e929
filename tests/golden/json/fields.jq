# "schema path type" of each field of a document. Rows of a list count as the
# thing itself; money is one value, and maps are not looked into.
def is_money: type == "object" and (keys == ["amount", "currency"]);
def kind:
	if is_money then "money"
	elif type == "boolean" then "true or false"
	elif type == "string" and test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]+([.][0-9]{3})?Z$")
	then "time"
	elif type == "string" then "text"
	else type end;
def walk_fields($path):
	if is_money then [$path, "money"]
	elif $path | IN("spec", "metrics") then [$path, "map"]
	elif type == "object" then
		to_entries[] | .key as $key |
		.value | walk_fields(if $path == "" then $key else "\($path).\($key)" end)
	elif $path == "total" then [$path, "list of money"]
	elif type == "array" then
		(if length == 0 then ["\($path)[]", "null"] else empty end),
		(.[] | walk_fields("\($path)[]"))
	else [$path, kind] end;
(.schema | sub("^gpucloud[.]"; "") | sub("/1$"; "")) as $schema |
(if has("rows") then (.rows[], del(.rows)) else . end) | del(.schema) |
walk_fields("") | "\($schema) \(.[0]) \(.[1])"
