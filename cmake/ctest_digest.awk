# Reads `ctest -V` and prints ctest's own lines, the output of tests that failed, and the reason of each skipped test.
/^[0-9]+: / {
  id = $1 + 0
  line = $0
  sub(/^[0-9]+: /, "", line)
  output[id] = output[id] line "\n"
  if (in_reason[id]) {
    if (line ~ /^\[ /) in_reason[id] = 0
    else if (line != "") {
      sub(/^[Ss]kipped: */, "", line)
      reason[id] = reason[id] "      skipped: " line "\n"
    }
  }
  # GoogleTest prints "FILE:LINE: Skipped", then the reason.
  if (line ~ /: Skipped$/) in_reason[id] = 1
  next
}
/^ *[0-9]+\/[0-9]+ Test +#[0-9]+:/ {
  print
  match($0, /#[0-9]+/)
  id = substr($0, RSTART + 1, RLENGTH - 1) + 0
  if ($0 ~ /\*\*\*Skipped/) printf "%s", reason[id]
  else if ($0 ~ /\*\*\*/) printf "%s", output[id]
  delete output[id]
  delete reason[id]
  fflush()
  next
}
/^(test [0-9]+$| +Start +[0-9]+:|UpdateCTestConfiguration|Parse|Checking test|Add coverage|Done constructing|Constructing|Test timeout|Added 0 tests)/ { next }
/^$/ && !summary { next }
/tests passed/ { summary = 1; print "" }
{ print; fflush() }
