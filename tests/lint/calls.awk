# Prints FILE:LINE: WORD for every call of one of `calls` and every use of one
# of `names` (space-separated words) in C sources; comments and what stands in
# quotes do not count.
BEGIN {
  n_calls = split(calls, c_list, /[ \n]+/)
  for (i = 1; i <= n_calls; i++) is_call[c_list[i]] = 1
  n_names = split(names, n_list, /[ \n]+/)
  for (i = 1; i <= n_names; i++) is_name[n_list[i]] = 1
}
FNR == 1 { comment = 0 }
{
  text = strip($0)
  before = ""
  while (match(text, /[A-Za-z_][A-Za-z0-9_]*/)) {
    word = substr(text, RSTART, RLENGTH)
    lead = before substr(text, 1, RSTART - 1)
    text = substr(text, RSTART + RLENGTH)
    before = "x"
    member = lead ~ /(\.|->)[ \t]*$/
    if (!member && ((word in is_call && text ~ /^[ \t]*\(/) || word in is_name))
      print FILENAME ":" FNR ": " word
  }
}
function strip(line,    out, i, c, two, quote) {
  while (line != "") {
    if (comment) {
      i = index(line, "*/")
      if (!i) return out
      line = substr(line, i + 2)
      comment = 0
      continue
    }
    if (!match(line, /\/\*|\/\/|["']/)) return out line
    out = out substr(line, 1, RSTART - 1)
    two = substr(line, RSTART, 2)
    c = substr(line, RSTART, 1)
    if (two == "//") return out
    line = substr(line, RSTART + (two == "/*" ? 2 : 1))
    if (two == "/*") {
      comment = 1
      out = out " "
      continue
    }
    # past the closing quote, escapes skipped
    while (line != "") {
      quote = substr(line, 1, 1)
      line = substr(line, quote == "\\" ? 3 : 2)
      if (quote == c) break
    }
    out = out c c
  }
  return out
}
